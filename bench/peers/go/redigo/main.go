// SPDX-License-Identifier: MIT

// Redigo: a pool of connections, and a collector written by hand.
package main

import (
	"sync"

	"github.com/gomodule/redigo/redis"

	"shoal/bench/peers/go/load"
)

func dial(o *load.Options) (redis.Conn, error) {
	network, address := o.Address()
	return redis.Dial(network, address,
		redis.DialUseTLS(o.TLS != nil), redis.DialTLSConfig(o.TLS))
}

func openPool(o *load.Options) (*load.Client, error) {
	pool := &redis.Pool{
		MaxIdle:   o.Callers,
		MaxActive: o.Callers,
		Wait:      true,
		Dial:      func() (redis.Conn, error) { return dial(o) },
	}
	do := func() error {
		conn := pool.Get()
		defer conn.Close()
		_, err := conn.Do("SET", load.FixedKey, o.Value)
		return err
	}
	return &load.Client{Do: do, Close: func() { _ = pool.Close() }}, nil
}

type call struct {
	done chan error
}

// collect sends what is queued as one pipeline, reads all replies of it, then looks
// again. It ends when the channel is closed.
func collect(conn redis.Conn, calls <-chan *call, value string) {
	var batch []*call

	for first := range calls {
		batch = append(batch[:0], first)
		for queued := len(calls); queued > 0; queued-- {
			batch = append(batch, <-calls)
		}
		var failure error
		for range batch {
			if err := conn.Send("SET", load.FixedKey, value); err != nil {
				failure = err
			}
		}
		if err := conn.Flush(); err != nil {
			failure = err
		}
		for _, call := range batch {
			err := failure
			if failure == nil {
				_, err = conn.Receive()
			}
			call.done <- err
		}
	}
	_ = conn.Close()
}

func openCollector(o *load.Options) (*load.Client, error) {
	conn, err := dial(o)
	if err != nil {
		return nil, err
	}
	calls := make(chan *call, 4096)
	unused := sync.Pool{New: func() any { return &call{done: make(chan error, 1)} }}
	go collect(conn, calls, o.Value)
	do := func() error {
		call := unused.Get().(*call)
		calls <- call
		err := <-call.done
		unused.Put(call)
		return err
	}
	return &load.Client{Do: do, Close: func() { close(calls) }}, nil
}

func main() {
	load.Main("github.com/gomodule/redigo", load.Clients{"pool": openPool, "collector": openCollector})
}
