/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_COMPANY_H
#define SHOAL_CORE_COMPANY_H

/*
 * Who waits for the results that a client owes?
 *
 * The result of a plain call wakes a thread that blocks for it, and runs no code of the
 * program.  While nothing but results of plain calls is owed, any thread may run a turn
 * of the loop.
 *
 * The owner tells what entered and what was settled, in this order for each command, and
 * serialises the calls.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct shoal__company {
    uint64_t plain; /* results owed to plain calls */
} shoal__company_t;

/* Commands of plain calls are owed their results from now on. */
static inline void shoal__company_enter(shoal__company_t *company, uint64_t plain)
{
    company->plain += plain;
}

/* Plain calls got their results. */
static inline void shoal__company_settle(shoal__company_t *company, uint64_t plain)
{
    company->plain -= plain;
}

/* Right after that: is none of the `owed` results for anybody else? */
static inline bool shoal__company_is_plain(const shoal__company_t *company,
                                           uint64_t owed)
{
    return owed == company->plain;
}

#endif
