/* SPDX-License-Identifier: MIT */
#include "judge/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct figure_name {
    const char *group;
    const char *key;
} figure_name_t;

static const figure_name_t names[] = {
#define FIGURE_NAME(name, group, key) {group, key},
    FIGURE_MAP(FIGURE_NAME)
#undef FIGURE_NAME
};

const char *figure_key(figure_t figure)
{
    return names[figure].key;
}

const char *figure_group(figure_t figure)
{
    return names[figure].group;
}

void figures_clear(figures_t *figures)
{
    *figures = (figures_t){0};
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        figures->value[i] = (double)NAN;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

void figures_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

/* Sorts the values of one figure that are known; returns how many. */
static size_t sort_known(const series_t *series, size_t figure, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < series->rounds_count; i++) {
        double value = series->rounds[i].value[figure];
        if (!isnan(value))
            values[count++] = value;
    }
    figures_sort(values, count);
    return count;
}

static void add_histograms(figures_t *sum, const figures_t *round)
{
    sum->has_batches = sum->has_batches || round->has_batches;
    for (size_t i = 0; i < SHOAL_STATS_BATCH_BUCKETS; i++)
        sum->batch_histogram[i] += round->batch_histogram[i];
    for (size_t i = 0; i < SHOAL_FLUSH_REASONS; i++)
        sum->flush_reasons[i] += round->flush_reasons[i];
}

/* The median of values in ascending order; there is one or more. */
static double middle(const double *values, size_t count)
{
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void series_summarise(series_t *series)
{
    figures_clear(&series->median);
    double *values = calloc(series->rounds_count + 1, sizeof *values);
    if (!values)
        return;

    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        size_t count = sort_known(series, i, values);
        if (count > 0)
            series->median.value[i] = middle(values, count);
    }
    /* Errors and losses are never averaged away. */
    double errors = 0, lost = 0;
    for (size_t i = 0; i < series->rounds_count; i++) {
        errors += series->rounds[i].value[FIGURE_ERRORS];
        lost += series->rounds[i].value[FIGURE_LOST_MESSAGES];
        add_histograms(&series->median, &series->rounds[i]);
    }
    series->median.value[FIGURE_ERRORS] = errors;
    series->median.value[FIGURE_LOST_MESSAGES] = lost;
    free(values);
}

double series_spread(const series_t *series, figure_t figure)
{
    double lowest = INFINITY;
    double highest = -INFINITY;

    for (size_t i = 0; i < series->rounds_count; i++) {
        lowest = fmin(lowest, series->rounds[i].value[figure]);
        highest = fmax(highest, series->rounds[i].value[figure]);
    }
    if (series->rounds_count < 2)
        return 0;
    return (highest - lowest) / 2 / series->median.value[figure];
}

double series_highest(const series_t *series, figure_t figure)
{
    double highest = (double)NAN;

    for (size_t i = 0; i < series->rounds_count; i++)
        highest = fmax(highest, series->rounds[i].value[figure]);
    return highest;
}

double series_ratio(const series_t *series, const series_t *reference, figure_t figure)
{
    size_t count = 0;
    double median = (double)NAN;
    double *ratios = calloc(series->rounds_count + 1, sizeof *ratios);

    for (size_t i = 0;
         ratios && i < series->rounds_count && i < reference->rounds_count; i++) {
        double ratio =
            series->rounds[i].value[figure] / reference->rounds[i].value[figure];
        if (isfinite(ratio))
            ratios[count++] = ratio;
    }
    if (count > 0) {
        figures_sort(ratios, count);
        median = middle(ratios, count);
    }
    free(ratios);
    return median;
}
