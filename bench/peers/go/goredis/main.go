// SPDX-License-Identifier: MIT

// Go-redis: a pool of connections, and its AutoPipeline.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"shoal/bench/peers/go/load"
)

// A client is that of a server or that of a cluster.
type client interface {
	redis.UniversalClient
	AutoPipelineWithOptions(options *redis.AutoPipelineOptions) (*redis.AutoPipeliner, error)
}

// newClient has the library's default number of connections with poolSize 0; of a cluster,
// to each node.
func newClient(o *load.Options, poolSize int) client {
	network, address := o.Address()
	if o.Cluster {
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: []string{address}, PoolSize: poolSize, TLSConfig: o.TLS})
	}
	return redis.NewClient(&redis.Options{
		Network: network, Addr: address, PoolSize: poolSize, TLSConfig: o.TLS})
}

// closer ends the program's use of a client; an error has no consequence any more.
func closer(c client) func() {
	return func() { _ = c.Close() }
}

func openPool(o *load.Options, poolSize int) (*load.Client, error) {
	c := newClient(o, poolSize)
	ctx := context.Background()
	do := func() error { return c.Set(ctx, o.Key(), o.Value, 0).Err() }
	return &load.Client{Do: do, Close: closer(c)}, nil
}

// openAuto leaves the library's defaults with nil.
func openAuto(o *load.Options, auto *redis.AutoPipelineOptions) (*load.Client, error) {
	c := newClient(o, 0)
	pipeliner, err := c.AutoPipelineWithOptions(auto)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	do := func() error { return pipeliner.Set(ctx, o.Key(), o.Value, 0).Err() }
	return &load.Client{Do: do, Close: closer(c)}, nil
}

// openReceiver hands messages to `receive` once all channels are confirmed.
func openReceiver(o *load.Options,
	receive func(*redis.PubSub, *load.Receipts)) (*load.Client, error) {
	c := newClient(o, 0)
	subscribe := func(channels []string, receipts *load.Receipts) error {
		ctx := context.Background()
		subscription := c.Subscribe(ctx, channels...)
		for range channels {
			if _, err := subscription.Receive(ctx); err != nil {
				return err
			}
		}
		go receive(subscription, receipts)
		return nil
	}
	return &load.Client{Subscribe: subscribe, Close: closer(c)}, nil
}

func receiveChannel(subscription *redis.PubSub, receipts *load.Receipts) {
	for message := range subscription.Channel() {
		receipts.Note(message.Payload)
	}
}

func receiveMessages(subscription *redis.PubSub, receipts *load.Receipts) {
	for {
		message, err := subscription.ReceiveMessage(context.Background())
		if errors.Is(err, redis.ErrClosed) {
			return
		}
		if err == nil {
			receipts.Note(message.Payload)
		}
	}
}

func main() {
	load.Main("github.com/redis/go-redis/v9", load.Clients{
		"default": func(o *load.Options) (*load.Client, error) { return openPool(o, 0) },
		"pool":    func(o *load.Options) (*load.Client, error) { return openPool(o, o.Callers) },
		"auto":    func(o *load.Options) (*load.Client, error) { return openAuto(o, nil) },
		"auto-100us": func(o *load.Options) (*load.Client, error) {
			auto := redis.DefaultBlockingAutoPipelineOptions()
			auto.MaxFlushDelay = 100 * time.Microsecond
			return openAuto(o, auto)
		},
		"channel": func(o *load.Options) (*load.Client, error) {
			return openReceiver(o, receiveChannel)
		},
		"receive": func(o *load.Options) (*load.Client, error) {
			return openReceiver(o, receiveMessages)
		},
		"auto-duplex": func(o *load.Options) (*load.Client, error) {
			auto := redis.DefaultBlockingAutoPipelineOptions()
			auto.FullDuplex = true
			return openAuto(o, auto)
		},
	})
}
