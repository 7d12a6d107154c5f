// SPDX-License-Identifier: MIT

package load

import (
	"math"
	"testing"
)

func TestBucketsHoldTheirValues(t *testing.T) {
	for _, ns := range []uint64{0, 1, 2047, 2048, 2049, 4095, 4096, 123456, 1e9, 1e12} {
		us := middleUs(bucketOf(ns))
		if math.Abs(us*1e3-float64(ns)) > 1+float64(ns)/1000 {
			t.Errorf("%d ns are counted as %g us", ns, us)
		}
	}
	if bucketOf(math.MaxUint64) != buckets-1 {
		t.Error("the longest duration is not in the last bucket")
	}
}

func TestSummary(t *testing.T) {
	var h histogram

	if h.summary()["p50"] != nil {
		t.Error("nothing has a median")
	}
	for ns := int64(1); ns <= 1000; ns++ {
		h.record(ns)
	}
	for name, want := range map[string]float64{
		"p0": 0.001, "p50": 0.5, "p99": 0.99, "p100": 1, "mean": 0.5005,
	} {
		if got := *h.summary()[name]; math.Abs(got-want) > 0.0006 {
			t.Errorf("%s is %g, not %g", name, got, want)
		}
	}
}
