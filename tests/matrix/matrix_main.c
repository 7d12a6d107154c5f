/* SPDX-License-Identifier: MIT */
/* Runs the cells of the faults that are linked in; an argument is a pattern of the names
 * of those to run, for example "*units". */
#include "matrix/matrix.h"
#include "matrix/rig_parts.h"
#include "matrix/world.h"
#include "support/process_state.h"

#if SHOAL_FAKE_TLS
#include "support/tls/certificate_folder.h"
#endif
#include <stdio.h>
#include <stdlib.h>

typedef struct matrix_run {
    const matrix_cell_t *cell;
    const matrix_mode_t *mode;
    char name[48];
} matrix_run_t;

static void run_cell(void **state)
{
    const matrix_run_t *run = *state;
    run->cell->run(run->mode);
}

/* Whatever a test that failed left behind ends here. */
static int end_rig(void **state)
{
    (void)state;
    matrix_abandon();
    return 0;
}

/* Of each fault another one. */
static bool is_columns_turn(const matrix_fault_t *fault, const matrix_cell_t *cell,
                            unsigned first)
{
    for (unsigned i = 0; i < MATRIX_COLUMN_COUNT; i++) {
        unsigned column = (fault->number + first + i) % MATRIX_COLUMN_COUNT;
        for (const matrix_cell_t *at = fault->cells; at->is_there; at++)
            if (at->column == column && at->run)
                return at == cell;
    }
    return false;
}

/* With sanitizers TLS takes its time, and a cluster does in any case: one column of each
 * fault. */
static bool is_wanted(const matrix_fault_t *fault, const matrix_cell_t *cell,
                      matrix_way_t way)
{
    if (!cell->run || matrix_excuse(fault, way))
        return false;
    if (way == MATRIX_TLS)
        return SHOAL_FAKE_TLS &&
               (!process_is_sanitized() || is_columns_turn(fault, cell, 0));
    return way == MATRIX_PLAIN || matrix_scale() > 1 || is_columns_turn(fault, cell, 1);
}

static int run_fault(const matrix_fault_t *fault)
{
    enum { RUNS_MAX = (int)MATRIX_WAY_COUNT * (int)MATRIX_COLUMN_COUNT };
    matrix_run_t runs[RUNS_MAX];
    struct CMUnitTest tests[RUNS_MAX];
    size_t count = 0;

    for (int way = 0; way < MATRIX_WAY_COUNT; way++) {
        for (const matrix_cell_t *cell = fault->cells; cell->is_there; cell++) {
            if (!is_wanted(fault, cell, (matrix_way_t)way) || count == RUNS_MAX)
                continue;
            matrix_run_t *run = &runs[count];
            *run = (matrix_run_t){cell, &matrix_modes[cell->column][way], ""};
            snprintf(run->name, sizeof run->name, "F%u %s", fault->number,
                     run->mode->name);
            tests[count++] = (struct CMUnitTest){.name = run->name,
                                                 .test_func = run_cell,
                                                 .teardown_func = end_rig,
                                                 .initial_state = run};
        }
    }
    return _cmocka_run_group_tests(fault->name, tests, count, NULL, NULL);
}

int main(int argc, char **argv)
{
    int failed = 0;
    bool is_any = false;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    matrix_world_start();
#if SHOAL_FAKE_TLS
    (void)certificate_folder(); /* here, so that no child of a test makes its own */
#endif
    for (size_t i = 0; i < matrix_faults_count; i++) {
        if (!matrix_faults[i].cells)
            continue;
        is_any = true;
        failed += run_fault(&matrix_faults[i]);
    }
    return failed || !is_any ? 1 : 0;
}
