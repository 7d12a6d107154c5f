// SPDX-License-Identifier: MIT

package load

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	headBytes    = 16   // of a message: its number and the microsecond of its publication
	credit       = 1024 // messages for which the publisher is told once
	timedShare   = 64   // one message in so many is timed
	timedAtARate = 8    // the same, at a rate
	nanosPerMicr = 1000
)

// Receipts is what a receiver does with each message: see shoal-bench's receipts.h. One
// goroutine at a time.
type Receipts struct {
	run     *run
	credits *os.File
	next    uint64
	due     uint64 // the number at which the publisher is told
	untimed uint64 // numbers with one of these bits are not timed
	lost    atomic.Int64
}

// Note takes one message.
func (r *Receipts) Note(payload string) {
	var number uint64
	if len(payload) >= headBytes {
		number, _ = strconv.ParseUint(payload[:8], 16, 32)
	}
	if number > r.next {
		r.lost.Add(int64(number - r.next))
	} else if number < r.next {
		r.run.noteError("a message came twice, or behind a later one")
	}
	r.next = number + 1
	if number&r.untimed == 0 && r.run.phase.Load() == measuring {
		r.run.latency.record(age(payload))
	}
	if number >= r.due {
		due := (number-r.due)/credit + 1
		r.due += due * credit
		// The publisher may have ended; then there is nobody to tell.
		_, _ = r.credits.Write(make([]byte, due))
	}
	r.run.ops.Add(1)
}

// age is how many nanoseconds ago the message was published.
func age(payload string) int64 {
	var clock unix.Timespec
	moment, _ := strconv.ParseUint(payload[8:headBytes], 16, 32)
	// It fails for an unknown clock only.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &clock)
	return int64(uint32(clock.Nano()/nanosPerMicr)-uint32(moment)) * nanosPerMicr
}

func (r *run) noteError(text string) {
	r.first.CompareAndSwap(nil, &text)
	r.errors.Add(1)
}

func measureMessages(options *Options, client *Client, module string) (map[string]any, error) {
	r := &run{options: options, sampling: timedShare}
	if options.Rate > 0 {
		r.sampling = timedAtARate
	}
	receipts := &Receipts{
		run:     r,
		credits: os.NewFile(uintptr(options.Credits), "credits"),
		due:     credit - 1,
		untimed: uint64(r.sampling - 1),
	}
	if receipts.credits == nil {
		return nil, errors.New("--credits must be a descriptor")
	}
	channels := make([]string, options.Channels)
	for i := range channels {
		channels[i] = fmt.Sprintf("channel:%d", i)
	}
	if err := client.Subscribe(channels, receipts); err != nil {
		return nil, err
	}
	fmt.Fprintln(os.Stderr, "subscribed")
	time.Sleep(time.Millisecond) // the publisher begins
	from, to := r.window()
	client.Close()
	if to.ops == from.ops {
		return nil, errors.New("no message came")
	}
	result := r.result(from, to, versions(module))
	result["lost_messages"] = receipts.lost.Load()
	return result, nil
}
