// SPDX-License-Identifier: MIT

// Rueidis: implicit pipelining over one connection or several.
package main

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"

	"shoal/bench/peers/go/load"
)

// Operands of PipelineMultiplex. Its default is a connection per CPU, 4 at most.
const (
	one  = -1
	four = 2
)

// open returns a way to use rueidis: its own pause after each write, and how many
// connections share the commands (multiplex 0: its default).
func open(pause time.Duration, multiplex int) func(*load.Options) (*load.Client, error) {
	return func(o *load.Options) (*load.Client, error) {
		network, address := o.Address()
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress:       []string{address},
			MaxFlushDelay:     pause,
			PipelineMultiplex: multiplex,
			ForceSingleClient: !o.Cluster,
			TLSConfig:         o.TLS,
			DialCtxFn: func(ctx context.Context, node string, dialer *net.Dialer,
				config *tls.Config) (net.Conn, error) {
				if !o.Cluster {
					node = address
				}
				if config != nil {
					secure := tls.Dialer{NetDialer: dialer, Config: config}
					return secure.DialContext(ctx, network, node)
				}
				return dialer.DialContext(ctx, network, node)
			},
		})
		if err != nil {
			return nil, err
		}
		ctx := context.Background()
		return &load.Client{
			Do: func() error {
				return client.Do(ctx, client.B().Set().Key(o.Key()).Value(o.Value).Build()).Error()
			},
			Close: client.Close,
		}, nil
	}
}

func main() {
	load.Main("github.com/redis/rueidis", load.Clients{
		"default":   open(0, 0),
		"20us":      open(20*time.Microsecond, 0),
		"100us":     open(100*time.Microsecond, 0),
		"one":       open(0, one),
		"one-20us":  open(20*time.Microsecond, one),
		"one-100us": open(100*time.Microsecond, one),
		"four":      open(0, four),
		"four-20us": open(20*time.Microsecond, four),
	})
}
