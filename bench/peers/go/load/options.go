// SPDX-License-Identifier: MIT

package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// FixedKey is the key of every command to one server: 16 bytes, as in shoal-bench. Those of a
// cluster are numbered.
const (
	FixedKey    = "key:000000000000"
	clusterKeys = 100000
)

// Options are those that every peer understands; see ../../README.md.
type Options struct {
	Client     string
	Socket     string
	Host       string
	Port       int
	Cluster    bool        // host and port are those of a node
	TLS        *tls.Config // nil: without
	Callers    int
	Rate       int
	ValueBytes int
	Duration   time.Duration
	WarmUp     time.Duration
	NoCommand  bool
	Channels   int // of a receiver of messages; 0: commands
	Credits    int // the descriptor that a receiver writes to
	Value      string

	keys []string // of a cluster
}

// Key returns that of the next command: always the same, or of a cluster a random one.
func (o *Options) Key() string {
	if o.keys == nil {
		return FixedKey
	}
	return o.keys[rand.IntN(len(o.keys))]
}

// Address returns the network and the address of the server.
func (o *Options) Address() (string, string) {
	if o.Socket != "" {
		return "unix", o.Socket
	}
	return "tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port))
}

// trust returns what it takes to speak TLS with servers that this authority signed for.
func trust(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New(file + ": no certificate")
	}
	return &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}, nil
}

func parseOptions(arguments []string) (*Options, error) {
	var o Options
	var duration, warmUp float64
	var ca string

	flags := flag.NewFlagSet("peer", flag.ContinueOnError)
	flags.StringVar(&o.Client, "client", "", "which way to use the library")
	flags.StringVar(&o.Socket, "socket", "", "the server's Unix socket")
	flags.StringVar(&o.Host, "host", "127.0.0.1", "the server's address")
	flags.IntVar(&o.Port, "port", 6379, "its port")
	flags.BoolVar(&o.Cluster, "cluster", false, "it is a node of a cluster")
	flags.StringVar(&ca, "ca", "", "TLS, with a server that the authority of this file signed for")
	flags.IntVar(&o.Callers, "callers", 128, "concurrent callers")
	flags.IntVar(&o.Rate, "rate", 0, "commands per second; 0: closed loop")
	flags.IntVar(&o.ValueBytes, "value-bytes", 16, "size of the value")
	flags.Float64Var(&duration, "duration", 5, "seconds that are measured")
	flags.Float64Var(&warmUp, "warmup", 1, "seconds before them")
	flags.BoolVar(&o.NoCommand, "no-command", false, "the generator alone")
	flags.IntVar(&o.Channels, "channels", 0, "receive the messages of so many")
	flags.IntVar(&o.Credits, "credits", -1, "the descriptor for the publisher")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if o.Channels < 0 || o.Callers < 1 || o.Rate < 0 || o.ValueBytes < 1 || duration <= 0 || warmUp < 0 {
		return nil, errors.New("a number is out of range")
	}
	if o.NoCommand && o.Rate == 0 {
		return nil, errors.New("--no-command needs --rate")
	}
	if ca != "" {
		var err error
		if o.TLS, err = trust(ca); err != nil {
			return nil, err
		}
	}
	if o.Cluster {
		o.keys = make([]string, clusterKeys)
		for i := range o.keys {
			o.keys[i] = fmt.Sprintf("key:%012d", i)
		}
	}
	o.Duration = time.Duration(duration * float64(time.Second))
	o.WarmUp = time.Duration(warmUp * float64(time.Second))
	o.Value = strings.Repeat("x", o.ValueBytes)
	return &o, nil
}
