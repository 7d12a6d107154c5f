// SPDX-License-Identifier: MIT

// Package load is the workload of shoal-bench for clients in Go: callers that each
// wait for their reply before the next command.
package load

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Beyond so many callers a closed loop times one command in 8, as shoal-bench does.
const (
	callersAllTimed = 64
	sampling        = 8
)

// A Client sends one command and waits for its reply, or receives messages: Subscribe
// returns once all channels are confirmed.
type Client struct {
	Do        func() error
	Subscribe func(channels []string, receipts *Receipts) error
	Close     func()
}

// Clients are the ways of a program to use its library, by name.
type Clients map[string]func(*Options) (*Client, error)

const (
	warming int32 = iota
	measuring
	stopping
)

type run struct {
	options   *Options
	do        func() error
	generator *generator
	sampling  int
	phase     atomic.Int32
	ops       atomic.Int64
	errors    atomic.Int64
	first     atomic.Pointer[string]
	latency   histogram
	service   histogram
}

// Main parses the command line, measures and prints the result. The module is the
// library's.
func Main(module string, clients Clients) {
	options, err := parseOptions(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fail(2, err)
	}
	open, known := clients[options.Client]
	if !known {
		names := make([]string, 0, len(clients))
		for name := range clients {
			names = append(names, name)
		}
		sort.Strings(names)
		fail(2, fmt.Errorf("--client must be one of %v", names))
	}
	client, err := open(options)
	if err != nil {
		fail(1, err)
	}
	if (client.Subscribe != nil) != (options.Channels > 0) {
		fail(2, errors.New("--channels is for the clients that receive"))
	}
	var result map[string]any
	if client.Subscribe != nil {
		result, err = measureMessages(options, client, module)
	} else if err = client.Do(); err == nil {
		result, err = measure(options, client, module)
	}
	if err != nil {
		fail(1, err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(1, err)
	}
}

func fail(code int, err error) {
	fmt.Fprintf(os.Stderr, "peer: %v\n", err)
	os.Exit(code)
}

func measure(options *Options, client *Client, module string) (map[string]any, error) {
	r := &run{options: options, do: client.Do, sampling: 1}
	if options.NoCommand {
		r.do = func() error { return nil }
	}
	if options.Rate == 0 && options.Callers > callersAllTimed {
		r.sampling = sampling
	}
	var callers sync.WaitGroup
	if options.Rate > 0 {
		var err error
		if r.generator, err = newGenerator(options.Rate); err != nil {
			return nil, err
		}
		callers.Go(func() {
			if err := r.generator.run(r.isStopping); err != nil {
				fail(1, err)
			}
		})
	}
	for range options.Callers {
		callers.Go(r.call)
	}

	from, to := r.window()
	callers.Wait()
	client.Close()
	if to.ops == from.ops {
		return nil, errors.New("no command finished")
	}
	return r.result(from, to, versions(module)), nil
}

// window lets warm-up and window pass.
func (r *run) window() (from, to moment) {
	time.Sleep(r.options.WarmUp)
	fmt.Fprintln(os.Stderr, "measuring")
	r.phase.Store(measuring)
	from = r.now()
	time.Sleep(r.options.Duration)
	to = r.now()
	r.phase.Store(stopping)
	fmt.Fprintln(os.Stderr, "measured")
	return from, to
}

func (r *run) isStopping() bool { return r.phase.Load() == stopping }

// call is one caller.
func (r *run) call() {
	if r.generator != nil {
		for number := range r.generator.due {
			if r.isStopping() {
				continue // the generator must not block
			}
			r.one(r.generator.intended(number))
		}
		return
	}
	for count := 0; !r.isStopping(); count++ {
		if count%r.sampling == 0 {
			r.one(time.Now())
		} else {
			r.untimed()
		}
	}
}

func (r *run) untimed() {
	if err := r.do(); err != nil {
		text := err.Error()
		r.first.CompareAndSwap(nil, &text)
		r.errors.Add(1)
	}
	r.ops.Add(1)
}

func (r *run) one(intended time.Time) {
	begin := intended
	if r.generator != nil {
		begin = time.Now()
	}
	r.untimed()
	if r.phase.Load() != measuring {
		return
	}
	end := time.Now()
	r.latency.record(int64(end.Sub(intended)))
	if r.generator != nil {
		r.service.record(int64(end.Sub(begin)))
	}
}
