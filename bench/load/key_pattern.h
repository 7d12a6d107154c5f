/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_LOAD_KEY_PATTERN_H
#define SHOAL_BENCH_LOAD_KEY_PATTERN_H

/*
 * Which of `limit` numbers comes next.  A pure function of the state, so that a seed
 * gives the same numbers in every run.
 */

#include <stdint.h>

typedef enum key_pattern_kind {
    KEY_UNIFORM,    /* each as likely as any other */
    KEY_SEQUENTIAL, /* one after the other, from a place that the seed decides */
    KEY_GAUSSIAN,   /* around the middle; limit / 6 is the standard deviation */
    KEY_ZIPF,       /* number k in proportion to 1 / (k + 1)^0.99: the low ones often */
} key_pattern_kind_t;

typedef struct key_pattern {
    key_pattern_kind_t kind;
    uint64_t limit; /* 1 or more; numbers are below it */
    double low;     /* zipf: the ends of the range that is drawn from */
    double high;
    double shortcut; /* zipf: a number this close to a whole one needs no test */
} key_pattern_t;

/* Returns -1 if `text` names none. */
int key_pattern_parse(const char *text, key_pattern_kind_t *ret_kind);
const char *key_pattern_name(key_pattern_kind_t kind);

void key_pattern_init(key_pattern_t *pattern, key_pattern_kind_t kind, uint64_t limit);

/* Draws the next number and moves `state` on. */
uint64_t key_pattern_draw(const key_pattern_t *pattern, uint64_t *state);

/* 64 random bits, and a number of 0 <= x < 1, from the state. */
uint64_t random_bits(uint64_t *state);
double random_share(uint64_t *state);

#endif
