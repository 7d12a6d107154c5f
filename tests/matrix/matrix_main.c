/* SPDX-License-Identifier: MIT */
/* Runs the cells of the faults that are linked in; an argument is a pattern of the names
 * of those to run, for example "*units". */
#include "matrix/matrix.h"
#include "matrix/rig_parts.h"
#include "matrix/world.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct matrix_run {
    const matrix_cell_t *cell;
    char name[40];
} matrix_run_t;

static void run_cell(void **state)
{
    const matrix_run_t *run = *state;
    run->cell->run(&matrix_modes[run->cell->column]);
}

/* Whatever a test that failed left behind ends here. */
static int end_rig(void **state)
{
    (void)state;
    matrix_abandon();
    return 0;
}

static int run_fault(const matrix_fault_t *fault)
{
    matrix_run_t runs[MATRIX_COLUMN_COUNT];
    struct CMUnitTest tests[MATRIX_COLUMN_COUNT];
    size_t count = 0;

    for (const matrix_cell_t *cell = fault->cells; cell->is_there; cell++) {
        if (!cell->run || count == MATRIX_COLUMN_COUNT)
            continue;
        runs[count].cell = cell;
        snprintf(runs[count].name, sizeof runs[count].name, "F%u %s", fault->number,
                 matrix_modes[cell->column].name);
        tests[count] = (struct CMUnitTest){.name = runs[count].name,
                                           .test_func = run_cell,
                                           .teardown_func = end_rig,
                                           .initial_state = &runs[count]};
        count++;
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
    for (size_t i = 0; i < matrix_faults_count; i++) {
        if (!matrix_faults[i].cells)
            continue;
        is_any = true;
        failed += run_fault(&matrix_faults[i]);
    }
    return failed || !is_any ? 1 : 0;
}
