/* SPDX-License-Identifier: MIT */
#include "load/key_pattern.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define ZIPF_EXPONENT 0.99
#define CIRCLE 6.283185307179586

static const char *const names[] = {
    [KEY_UNIFORM] = "uniform",
    [KEY_SEQUENTIAL] = "sequential",
    [KEY_GAUSSIAN] = "gaussian",
    [KEY_ZIPF] = "zipf",
};

uint64_t random_bits(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double random_share(uint64_t *state)
{
    return (double)(random_bits(state) >> 11) * 0x1p-53;
}

int key_pattern_parse(const char *text, key_pattern_kind_t *ret_kind)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_kind = (key_pattern_kind_t)i;
            return 0;
        }
    }
    return -1;
}

const char *key_pattern_name(key_pattern_kind_t kind)
{
    return names[kind];
}

/* Zipf by rejection-inversion (W. Hoermann, G. Derflinger, 1996): no table, and as fast
 * for a billion keys as for ten.  These are the density, its integral and the inverse of
 * that. */
static double density(double x)
{
    return pow(x, -ZIPF_EXPONENT);
}

static double integral(double x)
{
    return (pow(x, 1 - ZIPF_EXPONENT) - 1) / (1 - ZIPF_EXPONENT);
}

static double inverse(double area)
{
    return pow(1 + area * (1 - ZIPF_EXPONENT), 1 / (1 - ZIPF_EXPONENT));
}

void key_pattern_init(key_pattern_t *pattern, key_pattern_kind_t kind, uint64_t limit)
{
    *pattern = (key_pattern_t){.kind = kind, .limit = limit};
    if (kind != KEY_ZIPF)
        return;
    pattern->low = integral(1.5) - 1;
    pattern->high = integral((double)limit + 0.5);
    pattern->shortcut = 2 - inverse(integral(2.5) - density(2));
}

static uint64_t draw_zipf(const key_pattern_t *pattern, uint64_t *state)
{
    for (;;) {
        double area =
            pattern->high + random_share(state) * (pattern->low - pattern->high);
        double x = inverse(area);
        double rank = floor(x + 0.5);
        if (rank < 1)
            rank = 1;
        if (rank > (double)pattern->limit)
            rank = (double)pattern->limit;
        if (rank - x <= pattern->shortcut ||
            area >= integral(rank + 0.5) - density(rank))
            return (uint64_t)rank - 1;
    }
}

static uint64_t draw_gaussian(const key_pattern_t *pattern, uint64_t *state)
{
    double limit = (double)pattern->limit;

    for (;;) {
        double radius = sqrt(-2 * log(1 - random_share(state)));
        double deviation = radius * cos(CIRCLE * random_share(state));
        double number = floor(limit / 2 + deviation * limit / 6);
        if (number >= 0 && number < limit)
            return (uint64_t)number;
    }
}

uint64_t key_pattern_draw(const key_pattern_t *pattern, uint64_t *state)
{
    if (pattern->limit <= 1)
        return 0;
    switch (pattern->kind) {
    case KEY_UNIFORM:
        break;
    case KEY_SEQUENTIAL:
        return (*state)++ % pattern->limit;
    case KEY_GAUSSIAN:
        return draw_gaussian(pattern, state);
    case KEY_ZIPF:
        return draw_zipf(pattern, state);
    }
    /* The high bits scaled down: no division, and no bias worth a thought. */
    return (uint64_t)(random_share(state) * (double)pattern->limit);
}
