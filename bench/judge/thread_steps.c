/* SPDX-License-Identifier: MIT */
#include "judge/thread_steps.h"

#include "judge/figures.h"

#include <math.h>

#define HALF_MAX 1024u /* slices of a half that count */

/* Of the first slices; sorts a copy. */
static double median(const uint32_t *slices, size_t count)
{
    double values[HALF_MAX];

    if (count > HALF_MAX)
        count = HALF_MAX;
    if (count == 0)
        return (double)NAN;
    for (size_t i = 0; i < count; i++)
        values[i] = slices[i];
    figures_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double thread_step_steady(const uint32_t *slices, size_t count)
{
    return median(slices + count / 2, count - count / 2);
}

double thread_step_reference(double *steady, size_t count)
{
    if (count == 0)
        return (double)NAN;
    figures_sort(steady, count);
    return steady[(count - 1) * 3 / 4];
}

double thread_step_reached_ms(const uint32_t *slices, size_t count, double reference)
{
    double least = reference * THREAD_STEP_SHARE;

    if (isnan(reference))
        return (double)NAN;
    for (size_t i = 0; i + THREAD_STEP_AHEAD <= count; i++) {
        if (slices[i] >= least && median(slices + i, THREAD_STEP_AHEAD) >= least)
            return (double)(i + 1) * THREAD_STEP_SLICE_NS / 1e6;
    }
    return (double)INFINITY;
}
