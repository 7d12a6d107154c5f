/* SPDX-License-Identifier: MIT */
#include "judge/step_slices.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    uint64_t a = ((const step_sample_t *)left)->latency_ns;
    uint64_t b = ((const step_sample_t *)right)->latency_ns;
    return (a > b) - (a < b);
}

double step_median_ns(step_sample_t *samples, size_t count)
{
    if (count == 0)
        return (double)NAN;
    qsort(samples, count, sizeof *samples, compare);
    size_t low = (count - 1) / 2, high = count / 2;
    return (double)(samples[low].latency_ns + samples[high].latency_ns) / 2;
}

double step_settled_ms(step_sample_t *samples, size_t count, double base_ns)
{
    for (size_t first = 0; first < count;) {
        uint64_t slice = samples[first].at_ns / STEP_SLICE_NS;
        size_t next = first;
        while (next < count && samples[next].at_ns / STEP_SLICE_NS == slice)
            next++;
        if (step_median_ns(samples + first, next - first) <= base_ns * STEP_TOLERANCE)
            return (double)((slice + 1) * STEP_SLICE_NS) / 1e6;
        first = next;
    }
    return (double)INFINITY;
}
