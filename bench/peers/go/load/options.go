// SPDX-License-Identifier: MIT

package load

import (
	"errors"
	"flag"
	"net"
	"strconv"
	"strings"
	"time"
)

// Key is the key of every command: 16 bytes, as in shoal-bench.
const Key = "key:000000000000"

// Options are those that every peer understands; see ../../README.md.
type Options struct {
	Client     string
	Socket     string
	Host       string
	Port       int
	Callers    int
	Rate       int
	ValueBytes int
	Duration   time.Duration
	WarmUp     time.Duration
	NoCommand  bool
	Value      string
}

// Address returns the network and the address of the server.
func (o *Options) Address() (string, string) {
	if o.Socket != "" {
		return "unix", o.Socket
	}
	return "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
}

func parseOptions(arguments []string) (*Options, error) {
	var o Options
	var duration, warmUp float64

	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	flags.StringVar(&o.Client, "client", "", "which way to use the library")
	flags.StringVar(&o.Socket, "socket", "", "the server's Unix socket")
	flags.StringVar(&o.Host, "host", "127.0.0.1", "the server's address")
	flags.IntVar(&o.Port, "port", 6379, "its port")
	flags.IntVar(&o.Callers, "callers", 128, "concurrent callers")
	flags.IntVar(&o.Rate, "rate", 0, "commands per second; 0: closed loop")
	flags.IntVar(&o.ValueBytes, "value-bytes", 16, "size of the value")
	flags.Float64Var(&duration, "duration", 5, "seconds that are measured")
	flags.Float64Var(&warmUp, "warmup", 1, "seconds before them")
	flags.BoolVar(&o.NoCommand, "no-command", false, "the generator alone")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if o.Callers < 1 || o.Rate < 0 || o.ValueBytes < 1 || duration <= 0 || warmUp < 0 {
		return nil, errors.New("a number is out of range")
	}
	if o.NoCommand && o.Rate == 0 {
		return nil, errors.New("--no-command needs --rate")
	}
	o.Duration = time.Duration(duration * float64(time.Second))
	o.WarmUp = time.Duration(warmUp * float64(time.Second))
	o.Value = strings.Repeat("x", o.ValueBytes)
	return &o, nil
}
