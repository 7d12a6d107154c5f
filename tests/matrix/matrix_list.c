/* SPDX-License-Identifier: MIT */
#include "matrix/matrix.h"

/* A program has the rows of some faults only. */
#define DECLARE(number, name)                                                          \
    extern const matrix_cell_t matrix_row_##number[] __attribute__((weak));
MATRIX_FAULTS(DECLARE)

#define LIST(number, name) {number, name, matrix_row_##number},
const matrix_fault_t matrix_faults[] = {MATRIX_FAULTS(LIST)};
const size_t matrix_faults_count = sizeof matrix_faults / sizeof *matrix_faults;

#define MODES(column, name, protocol, caller, is_unit)                                 \
    {                                                                                  \
        {column, name, protocol, caller, is_unit, false, false},                       \
            {column, name "-tls", protocol, caller, is_unit, true, false},             \
        {                                                                              \
            column, name "-cluster", protocol, caller, is_unit, false, true            \
        }                                                                              \
    }

const matrix_mode_t matrix_modes[MATRIX_COLUMN_COUNT][MATRIX_WAY_COUNT] = {
    MODES(MATRIX_RESP3_CALLBACK, "resp3-callback", 3, MATRIX_BY_CALLBACK, false),
    MODES(MATRIX_RESP3_SYNC, "resp3-sync", 3, MATRIX_BY_BLOCKING, false),
    MODES(MATRIX_RESP3_BORROWED, "resp3-borrowed", 3, MATRIX_BY_STEPPING, false),
    MODES(MATRIX_RESP2, "resp2", 2, MATRIX_BY_CALLBACK, false),
    MODES(MATRIX_UNITS, "units", 3, MATRIX_BY_CALLBACK, true),
};

const char *matrix_excuse(const matrix_fault_t *fault, matrix_way_t way)
{
    for (const matrix_cell_t *cell = fault->cells; cell && cell->is_there; cell++)
        if ((int)cell->column == (int)MATRIX_COLUMN_COUNT + (int)way)
            return cell->reason;
    return NULL;
}
