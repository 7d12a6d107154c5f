/* SPDX-License-Identifier: MIT */
#include "judge/thread_bars.h"

#include <math.h>
#include <stddef.h>

#define NO_BAR ((double)NAN)

typedef struct row {
    uint64_t threads;
    thread_bars_t bars;
} row_t;

thread_bars_t thread_bars(uint64_t threads)
{
    /* threads, throughput, p50, p99, CPU, throughput to the mutex queue */
    static const row_t rows[] = {
        {1, {NO_BAR, 1.02, NO_BAR, NO_BAR, NO_BAR}},
        {2, {1.0, NO_BAR, 1.0, 1.0, NO_BAR}},
        {8, {1.0, NO_BAR, 1.0, 0.7, NO_BAR}},
        {16, {1.5, NO_BAR, 1.0, 0.5, NO_BAR}},
        {32, {2.0, NO_BAR, 1.0, 1.0 / 3, NO_BAR}},
        {128, {3.0, NO_BAR, 1.0, 1.0 / 3, 1.8}},
    };
    size_t row = 0;

    while (row + 1 < sizeof rows / sizeof *rows && rows[row + 1].threads <= threads)
        row++;
    return rows[row].bars;
}
