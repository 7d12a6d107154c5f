// SPDX-License-Identifier: MIT

package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const ticksMax = 4096 // that one read takes

// A generator releases the commands of an open loop. peer-pacer says on the standard
// input when the schedule begins and whenever a command is due.
type generator struct {
	pacer    *os.File
	start    time.Time
	interval float64 // nanoseconds between two commands
	due      chan int64
}

func newGenerator(rate int) (*generator, error) {
	// Without blocking, so that the runtime's poller waits, not a thread.
	if err := unix.SetNonblock(0, true); err != nil {
		return nil, err
	}
	pacer := os.NewFile(0, "pacer")
	var data [8]byte
	if _, err := io.ReadFull(pacer, data[:]); err != nil {
		return nil, fmt.Errorf("--rate needs peer-pacer on the standard input: %w", err)
	}
	var clock unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &clock); err != nil {
		return nil, err
	}
	ahead := int64(binary.NativeEndian.Uint64(data[:])) - clock.Nano()
	return &generator{
		pacer:    pacer,
		start:    time.Now().Add(time.Duration(ahead)),
		interval: 1e9 / float64(rate),
		due:      make(chan int64, 1<<16),
	}, nil
}

// intended is the moment at which a command is due.
func (g *generator) intended(number int64) time.Time {
	return g.start.Add(time.Duration(float64(number) * g.interval))
}

// dueUntilNow is how many commands were due until now.
func (g *generator) dueUntilNow() int64 {
	elapsed := time.Since(g.start)
	if elapsed < 0 {
		return 0
	}
	return 1 + int64(float64(elapsed)/g.interval)
}

// run releases until the phase says stop; then it closes due. What was due before is
// nobody's.
func (g *generator) run(isStopping func() bool) error {
	defer close(g.due)
	var ticks [ticksMax]byte

	for released := g.dueUntilNow(); !isStopping(); {
		if _, err := g.pacer.Read(ticks[:]); errors.Is(err, io.EOF) {
			return errors.New("the pacer has ended")
		} else if err != nil {
			return err
		}
		for now := g.dueUntilNow(); released < now; released++ {
			g.due <- released
		}
	}
	return nil
}
