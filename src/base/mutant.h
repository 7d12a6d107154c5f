/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BASE_MUTANT_H
#define SHOAL_BASE_MUTANT_H

/*
 * Bugs on purpose, to prove that the tests see them: tests/sim/mutants.txt lists them.
 * Only a build with SHOAL_MUTANT=all holds them, and it runs with one at a time; in any
 * other build the question is the constant false.
 */

#ifdef SHOAL_MUTANT_ALL
#include <string.h>
extern const char *shoal__mutant; /* its name; "": none.  The test program defines it */
#define SHOAL__MUTANT(name) (strcmp(shoal__mutant, #name) == 0)
#else
#define SHOAL__MUTANT(name) 0
#endif

#endif
