// SPDX-License-Identifier: MIT

package load

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

type moment struct {
	at  time.Time
	cpu time.Duration // of the whole process
	ops int64
}

func (r *run) now() moment {
	var usage syscall.Rusage
	// It fails for an unknown first argument only.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return moment{at: time.Now(), cpu: cpu, ops: r.ops.Load()}
}

func peakRssBytes() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Maxrss * 1024
}

// versions are those of Go and of the library.
func versions(library string) map[string]string {
	result := map[string]string{"go": runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == library {
				result[library] = module.Version
			}
		}
	}
	return result
}

// result uses the keys of shoal-bench.
func (r *run) result(from, to moment, versions map[string]string) map[string]any {
	o := r.options
	seconds := to.at.Sub(from.at).Seconds()
	cpuUs := float64((to.cpu - from.cpu).Nanoseconds()) / 1e3
	ops := float64(to.ops - from.ops)
	config := map[string]any{
		"callers":          o.Callers,
		"rate":             o.Rate,
		"value_bytes":      o.ValueBytes,
		"duration_s":       o.Duration.Seconds(),
		"warmup_s":         o.WarmUp.Seconds(),
		"latency_sampling": r.sampling,
		"gomaxprocs":       runtime.GOMAXPROCS(0),
		"versions":         versions,
	}
	result := map[string]any{
		"client":               o.Client,
		"commands":             to.ops - from.ops,
		"errors":               r.errors.Load(),
		"seconds":              seconds,
		"ops_per_s":            ops / seconds,
		"client_cpu_us_per_op": cpuUs / ops,
		"client_cpu_percent":   cpuUs / seconds / 1e4,
		"peak_rss_bytes":       peakRssBytes(),
		"latency_us":           r.latency.summary(),
		"config":               config,
	}
	if first := r.first.Load(); first != nil {
		result["first_error"] = *first
	}
	if o.Channels == 0 && o.Rate > 0 {
		result["service_latency_us"] = r.service.summary()
	}
	return result
}
