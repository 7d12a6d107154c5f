// SPDX-License-Identifier: MIT

// Redispipe: implicit pipelining over one connection to a node, with a pause before each write.
// A module of its own, so that the others can be built where this one is not to be had.
package main

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"

	"shoal/bench/peers/go/load"
)

// A sender is a connection or a cluster.
type sender interface {
	redis.Sender
	Close()
}

func connect(o *load.Options, opts redisconn.Opts) (sender, error) {
	_, address := o.Address()
	ctx := context.Background()
	if o.Cluster {
		return rediscluster.NewCluster(ctx, []string{address},
			rediscluster.Opts{HostOpts: opts, Logger: rediscluster.NoopLogger{}})
	}
	return redisconn.Connect(ctx, address, opts)
}

// open returns a way to use redispipe; 0 is its default pause, less than 0 none.
func open(pause time.Duration) func(*load.Options) (*load.Client, error) {
	return func(o *load.Options) (*load.Client, error) {
		conn, err := connect(o, redisconn.Opts{
			WritePause: pause,
			TLSEnabled: o.TLS != nil,
			TLSConfig:  o.TLS,
			Logger:     redisconn.NoopLogger{},
		})
		if err != nil {
			return nil, err
		}
		sync := redis.Sync{S: conn}
		do := func() error {
			return redis.AsError(sync.Do("SET", o.Key(), o.Value))
		}
		return &load.Client{Do: do, Close: conn.Close}, nil
	}
}

func main() {
	load.Main("github.com/joomcode/redispipe", load.Clients{
		"default": open(0),
		"50us":    open(50 * time.Microsecond),
		"nopause": open(-1),
	})
}
