// SPDX-License-Identifier: MIT

// Go-redis: a pool of connections, and its AutoPipeline.
package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"shoal/bench/peers/go/load"
)

// newClient has the library's default number of connections with poolSize 0.
func newClient(o *load.Options, poolSize int) *redis.Client {
	network, address := o.Address()
	return redis.NewClient(&redis.Options{
		Network: network, Addr: address, PoolSize: poolSize, TLSConfig: o.TLS})
}

// closer ends the program's use of a client; an error has no consequence any more.
func closer(client *redis.Client) func() {
	return func() { _ = client.Close() }
}

func openPool(o *load.Options, poolSize int) (*load.Client, error) {
	client := newClient(o, poolSize)
	ctx := context.Background()
	do := func() error { return client.Set(ctx, load.Key, o.Value, 0).Err() }
	return &load.Client{Do: do, Close: closer(client)}, nil
}

// openAuto leaves the library's defaults with nil.
func openAuto(o *load.Options, auto *redis.AutoPipelineOptions) (*load.Client, error) {
	client := newClient(o, 0)
	pipeliner, err := client.AutoPipelineWithOptions(auto)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	do := func() error { return pipeliner.Set(ctx, load.Key, o.Value, 0).Err() }
	return &load.Client{Do: do, Close: closer(client)}, nil
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
		"auto-duplex": func(o *load.Options) (*load.Client, error) {
			auto := redis.DefaultBlockingAutoPipelineOptions()
			auto.FullDuplex = true
			return openAuto(o, auto)
		},
	})
}
