/* SPDX-License-Identifier: MIT */
/* Counts the cells of the fault matrix and prints it: each fault in each column exactly
 * once, as a test or with the reason why not. */
#include "matrix/matrix.h"

#include <stdio.h>
#include <string.h>

typedef struct tally {
    unsigned tests, excused, bad;
    unsigned ways[MATRIX_WAY_COUNT]; /* of the tests: they run in these ways */
} tally_t;

/* The cells that a fault has in a column: how many, and the last of them. */
static unsigned find_cells(const matrix_fault_t *fault, matrix_column_t column,
                           const matrix_cell_t **ret_cell)
{
    unsigned count = 0;

    for (const matrix_cell_t *cell = fault->cells; cell && cell->is_there; cell++) {
        if (cell->column == column) {
            *ret_cell = cell;
            count++;
        }
    }
    return count;
}

static const char *judge(const matrix_fault_t *fault, matrix_column_t column,
                         tally_t *tally)
{
    const matrix_cell_t *cell = NULL;
    unsigned count = find_cells(fault, column, &cell);

    if (count == 1 && cell->run && !cell->reason) {
        tally->tests++;
        for (int way = 0; way < MATRIX_WAY_COUNT; way++)
            tally->ways[way] += !matrix_excuse(fault, (matrix_way_t)way);
        return "test";
    }
    if (count == 1 && !cell->run && cell->reason && strlen(cell->reason) >= 10) {
        tally->excused++;
        return "n/a";
    }
    tally->bad++;
    return count == 0 ? "MISSING" : count > 1 ? "DOUBLED" : "NO REASON";
}

static const char *const way_names[MATRIX_WAY_COUNT] = {"plain", "tls", "cluster"};

static void print_reasons(const matrix_fault_t *fault)
{
    for (const matrix_cell_t *cell = fault->cells; cell && cell->is_there; cell++)
        if (cell->reason)
            printf("     n/a in %s: %s\n",
                   cell->column < MATRIX_COLUMN_COUNT
                       ? matrix_modes[cell->column][MATRIX_PLAIN].name
                       : way_names[cell->column - MATRIX_COLUMN_COUNT],
                   cell->reason);
}

int main(void)
{
    tally_t tally = {0};

    printf("%-4s", "");
    for (int column = 0; column < MATRIX_COLUMN_COUNT; column++)
        printf(" %-14s", matrix_modes[column][MATRIX_PLAIN].name);
    printf("\n");
    for (size_t i = 0; i < matrix_faults_count; i++) {
        const matrix_fault_t *fault = &matrix_faults[i];
        tally.bad += i > 0 && fault->number <= matrix_faults[i - 1].number;
        for (int way = 0; way < MATRIX_WAY_COUNT; way++) {
            const char *excuse = matrix_excuse(fault, (matrix_way_t)way);
            tally.bad += excuse && strlen(excuse) < 10;
        }
        printf("F%-3u", fault->number);
        for (int column = 0; column < MATRIX_COLUMN_COUNT; column++)
            printf(" %-14s", judge(fault, (matrix_column_t)column, &tally));
        printf(" %s\n", fault->name);
        print_reasons(fault);
    }
    printf("%u tests, of them %u over TLS as well, and %u in a cluster; %u not "
           "applicable, "
           "%u wrong, of %zu cells\n",
           tally.tests, tally.ways[MATRIX_TLS], tally.ways[MATRIX_CLUSTER],
           tally.excused, tally.bad, matrix_faults_count * MATRIX_COLUMN_COUNT);
    bool is_complete = tally.bad == 0 && tally.tests + tally.excused ==
                                             matrix_faults_count * MATRIX_COLUMN_COUNT;
    return is_complete ? 0 : 1;
}
