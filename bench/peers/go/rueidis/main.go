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

// newClient has its own pause after each write, and a number of connections that share the
// commands (multiplex 0: its default).
func newClient(o *load.Options, pause time.Duration, multiplex int) (rueidis.Client, error) {
	network, address := o.Address()
	return rueidis.NewClient(rueidis.ClientOption{
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
}

// open returns a way to use such a client.
func open(pause time.Duration, multiplex int) func(*load.Options) (*load.Client, error) {
	return func(o *load.Options) (*load.Client, error) {
		client, err := newClient(o, pause, multiplex)
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

// openHooks receives on a dedicated connection, by hooks.
func openHooks(o *load.Options) (*load.Client, error) {
	client, err := newClient(o, 0, 0)
	if err != nil {
		return nil, err
	}
	dedicated, release := client.Dedicate()
	subscribe := func(channels []string, receipts *load.Receipts) error {
		confirmed := make(chan struct{}, len(channels))
		dedicated.SetPubSubHooks(rueidis.PubSubHooks{
			OnMessage:      func(m rueidis.PubSubMessage) { receipts.Note(m.Message) },
			OnSubscription: func(rueidis.PubSubSubscription) { confirmed <- struct{}{} },
		})
		command := dedicated.B().Subscribe().Channel(channels...).Build()
		if err := dedicated.Do(context.Background(), command).Error(); err != nil {
			return err
		}
		for range channels {
			<-confirmed
		}
		return nil
	}
	return &load.Client{Subscribe: subscribe, Close: func() { release(); client.Close() }}, nil
}

// openReceive receives by Receive.
func openReceive(o *load.Options) (*load.Client, error) {
	client, err := newClient(o, 0, 0)
	if err != nil {
		return nil, err
	}
	subscribe := func(channels []string, receipts *load.Receipts) error {
		confirmed := make(chan struct{}, len(channels))
		failed := make(chan error, 1)
		ctx := rueidis.WithOnSubscriptionHook(context.Background(),
			func(rueidis.PubSubSubscription) { confirmed <- struct{}{} })
		command := client.B().Subscribe().Channel(channels...).Build()
		go func() {
			failed <- client.Receive(ctx, command,
				func(m rueidis.PubSubMessage) { receipts.Note(m.Message) })
		}()
		for range channels {
			select {
			case <-confirmed:
			case err := <-failed:
				return err
			}
		}
		return nil
	}
	return &load.Client{Subscribe: subscribe, Close: client.Close}, nil
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
		"hooks":     openHooks,
		"receive":   openReceive,
	})
}
