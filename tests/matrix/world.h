/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_MATRIX_WORLD_H
#define SHOAL_TESTS_MATRIX_WORLD_H

/* What is measured of the whole process: the library's memory. */

/* Begin to count, before anything else of the library is used. */
void matrix_world_start(void);
/* Forget the peak. */
void matrix_world_reset(void);

#endif
