// SPDX-License-Identifier: MIT

package load

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// The buckets are those of shoal-bench: one per nanosecond below 2048 ns, then 1024
// per power of two, up to 36 minutes.
const (
	exact    = 2048
	perPower = 1024
	powers   = 30
	buckets  = exact + powers*perPower
)

type histogram struct {
	counts [buckets]atomic.Uint64
}

func bucketOf(ns uint64) int {
	if ns < exact {
		return int(ns)
	}
	power := bits.Len64(ns) - 1
	if power >= 11+powers {
		return buckets - 1
	}
	return exact + (power-11)*perPower + int(ns>>(power-10)) - perPower
}

// middleUs is the middle of a bucket, in microseconds.
func middleUs(bucket int) float64 {
	if bucket < exact {
		return float64(bucket) / 1e3
	}
	shift := 1 + (bucket-exact)/perPower
	low := uint64(perPower + (bucket-exact)%perPower)
	return (float64(low<<shift) + float64(uint64(1)<<shift)/2) / 1e3
}

func (h *histogram) record(ns int64) {
	h.counts[bucketOf(uint64(max(ns, 0)))].Add(1)
}

// summary returns the quantiles and the mean under the keys of the JSON; nil values
// if nothing was recorded.
func (h *histogram) summary() map[string]*float64 {
	names := []string{"p0", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "p100"}
	shares := []float64{0, 0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}
	result := map[string]*float64{"mean": nil}
	var total, sum float64

	for _, name := range names {
		result[name] = nil
	}
	for i := range h.counts {
		count := float64(h.counts[i].Load())
		total += count
		sum += count * middleUs(i)
	}
	if total == 0 {
		return result
	}
	var seen float64
	next := 0
	for i := range h.counts {
		count := float64(h.counts[i].Load())
		seen += count
		for count > 0 && next < len(names) && seen >= shares[next]*total {
			result[names[next]] = rounded(middleUs(i))
			next++
		}
	}
	result["mean"] = rounded(sum / total)
	return result
}

func rounded(value float64) *float64 {
	value = math.Round(value*1e3) / 1e3
	return &value
}
