/* SPDX-License-Identifier: MIT */
#include "noise.h"

#include <math.h>

noise_rounds_t noise_rounds_of(double median, const double *values, size_t count)
{
    noise_rounds_t rounds = {
        .median = median, .lowest = INFINITY, .highest = -INFINITY};

    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            continue;
        rounds.lowest = fmin(rounds.lowest, values[i]);
        rounds.highest = fmax(rounds.highest, values[i]);
        rounds.count++;
    }
    return rounds;
}

noise_verdict_t noise_judge(const noise_rounds_t *before, const noise_rounds_t *after,
                            bool more_is_better)
{
    double difference = after->median - before->median;

    if (before->count < 2 || after->count < 2 || isnan(difference))
        return NOISE_UNKNOWN;
    double noise =
        (before->highest - before->lowest) + (after->highest - after->lowest);
    if (fabs(difference) <= noise ||
        fabs(difference) <= NOISE_FLOOR * fabs(before->median))
        return NOISE_SAME;
    return (difference > 0) == more_is_better ? NOISE_BETTER : NOISE_WORSE;
}
