/* SPDX-License-Identifier: MIT */
#include "chart_scale.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SPACE "\u00a0"
#define ALMOST 1e-9 /* what rounding errors may add up to, relative */

/* The greatest of 1, 2 and 5 times a power of ten that is not above `value`. */
static double step_down(double value)
{
    double power = pow(10, floor(log10(value) + ALMOST));
    double digit = value / power * (1 + ALMOST);
    return (digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * power;
}

static double step_up(double value)
{
    double down = step_down(value);
    if (down >= value * (1 - ALMOST))
        return down;
    double digit = round(down / pow(10, floor(log10(down) + ALMOST)));
    return digit == 2 ? down * 2.5 : down * 2;
}

/* The distance of about `wanted` round values from 0 to `high`. */
static double linear_step(double high, size_t wanted)
{
    return step_up(high / (double)wanted);
}

void chart_scale_cover(chart_scale_t *scale, double low, double high)
{
    if (!scale->is_log) {
        double step = high > 0 ? linear_step(high, 5) : 1;
        scale->low = 0;
        scale->high = fmax(ceil(high / step - ALMOST), 1) * step;
        return;
    }
    bool is_empty = !(low > 0) || !isfinite(high);
    scale->low = is_empty ? 1 : step_down(low);
    scale->high = is_empty ? 10 : step_up(high);
    if (scale->high < scale->low * 1.5) { /* a single value stands in the middle */
        scale->low = step_down(scale->low * 0.75);
        scale->high = step_up(scale->high * 1.25);
    }
}

double chart_scale_at(const chart_scale_t *scale, double value)
{
    double share;

    if (!isfinite(value) || (scale->is_log && value <= 0))
        return (double)NAN;
    if (scale->is_log)
        share = log(value / scale->low) / log(scale->high / scale->low);
    else
        share = (value - scale->low) / (scale->high - scale->low);
    return scale->from + share * (scale->to - scale->from);
}

static size_t linear_ticks(const chart_scale_t *scale, size_t wanted,
                           double ret_ticks[CHART_TICKS_MAX])
{
    double step = linear_step(scale->high - scale->low, wanted > 1 ? wanted - 1 : 1);
    double first = ceil(scale->low / step - ALMOST);
    size_t count = 0;

    for (; count < CHART_TICKS_MAX; count++) {
        double tick = (first + (double)count) * step;
        if (tick > scale->high + ALMOST * step)
            break;
        ret_ticks[count] = tick;
    }
    return count;
}

/* Counts, and keeps if `ret_ticks` is there, those of the digits times powers of ten that
 * lie on the scale.  Only every `stride`th power counts. */
static size_t log_ticks(const chart_scale_t *scale, const char *digits, int stride,
                        double *ret_ticks)
{
    size_t count = 0;
    int power = (int)floor(log10(scale->low) + ALMOST);

    for (; pow(10, power) <= scale->high * (1 + ALMOST); power++) {
        for (const char *digit = digits; *digit != '\0'; digit++) {
            double tick = (*digit - '0') * pow(10, power);
            if (power % stride != 0 || tick < scale->low * (1 - ALMOST) ||
                tick > scale->high * (1 + ALMOST))
                continue;
            if (ret_ticks && count < CHART_TICKS_MAX)
                ret_ticks[count] = tick;
            count++;
        }
    }
    return count;
}

size_t chart_scale_ticks(const chart_scale_t *scale, size_t wanted,
                         double ret_ticks[CHART_TICKS_MAX])
{
    static const char *const digits[] = {"125", "13", "1"};

    if (wanted > CHART_TICKS_MAX)
        wanted = CHART_TICKS_MAX;
    if (!scale->is_log || scale->high <= scale->low * 5 * (1 + ALMOST))
        return linear_ticks(scale, wanted, ret_ticks);
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        if (log_ticks(scale, digits[i], 1, NULL) <= wanted)
            return log_ticks(scale, digits[i], 1, ret_ticks);
    }
    int stride = 2;
    while (log_ticks(scale, "1", stride, NULL) > wanted)
        stride++;
    return log_ticks(scale, "1", stride, ret_ticks);
}

/* The positions in ascending order, by insertion: there are a few. */
static void sort_order(const double *positions, size_t count, size_t *order)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && positions[order[at - 1]] > positions[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Runs of labels that touch; a run stands where the mean of its members wants it. */
typedef struct run {
    double first; /* where its first member stands */
    size_t count;
} run_t;

static double clamp_run(double first, size_t count, double gap, double low, double high)
{
    double last_start = high - gap * (double)(count - 1);
    return fmax(low, fmin(first, last_start));
}

void chart_spread(double *positions, size_t count, double gap, double low, double high)
{
    size_t order[CHART_LABELS_MAX];
    run_t runs[CHART_LABELS_MAX];
    size_t runs_count = 0;

    if (count == 0 || count > CHART_LABELS_MAX)
        return;
    if (gap * (double)(count - 1) > high - low)
        gap = (high - low) / (double)(count - 1);
    sort_order(positions, count, order);

    for (size_t i = 0; i < count; i++) {
        run_t run = {clamp_run(positions[order[i]], 1, gap, low, high), 1};
        while (runs_count > 0) {
            const run_t *former = &runs[runs_count - 1];
            double former_end = former->first + gap * (double)former->count;
            if (former_end <= run.first)
                break;
            size_t total = former->count + run.count;
            double wish =
                (former->first * (double)former->count +
                 (run.first - gap * (double)former->count) * (double)run.count) /
                (double)total;
            run = (run_t){clamp_run(wish, total, gap, low, high), total};
            runs_count--;
        }
        runs[runs_count++] = run;
    }
    for (size_t i = 0, at = 0; i < runs_count; i++) {
        for (size_t k = 0; k < runs[i].count; k++)
            positions[order[at++]] = runs[i].first + gap * (double)k;
    }
}

void chart_thin(const double *middles, const double *widths, size_t count,
                bool *ret_is_kept)
{
    double end = -(double)INFINITY; /* of the label that was kept last */
    size_t last = count - 1;

    for (size_t i = 0; i < count; i++) {
        double left = middles[i] - widths[i] / 2;
        double right = middles[i] + widths[i] / 2;
        bool spares_last = i == last || right <= middles[last] - widths[last] / 2;
        ret_is_kept[i] = left >= end && spares_last;
        if (ret_is_kept[i])
            end = right;
    }
}

/* Splits a number into one of 1 .. 999 and its suffix. */
static const char *split(double *number)
{
    static const char *const suffixes[] = {"", SPACE "k", SPACE "M", SPACE "G"};
    size_t i = 0;

    while (fabs(*number) >= 999.5 && i + 1 < sizeof suffixes / sizeof *suffixes) {
        *number /= 1000;
        i++;
    }
    return suffixes[i];
}

const char *chart_number(double number, char *text, size_t text_bytes)
{
    if (!isfinite(number)) {
        snprintf(text, text_bytes, "-");
        return text;
    }
    const char *suffix = split(&number);
    double size = fabs(number);
    int decimals = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
    if (size > 0 && size < 0.0995)
        decimals = 3;
    snprintf(text, text_bytes, "%.*f%s", decimals, number, suffix);
    return text;
}

const char *chart_tick_text(double number, char *text, size_t text_bytes)
{
    const char *suffix = split(&number);
    snprintf(text, text_bytes, "%.3g%s", number, suffix);
    return text;
}
