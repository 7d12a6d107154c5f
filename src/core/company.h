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

/* So many looks in a row must find results of plain calls alone: a program that uses
 * both kinds of calls is not to change its ways all the time. */
#define SHOAL__COMPANY_LOOKS 16

typedef struct shoal__company {
    uint64_t plain;   /* results owed to plain calls */
    uint64_t settled; /* commands, at the last look */
    unsigned looks;   /* in a row that found nothing else; LOOKS at most */
} shoal__company_t;

/* Commands of plain calls are owed their results from now on. */
static inline void shoal__company_enter(shoal__company_t *company, uint64_t plain)
{
    company->plain += plain;
}

/* A look: `settled` commands have their results, of all that ever were; `plain` of them
 * got theirs since the last look, and were plain calls. */
void shoal__company_look(shoal__company_t *company, uint64_t settled, uint64_t plain);

/* Were there plain calls alone for a while? */
static inline bool shoal__company_is_steady(const shoal__company_t *company)
{
    return company->looks == SHOAL__COMPANY_LOOKS;
}

/* Right after a look: is none of the `owed` results for anybody else? */
static inline bool shoal__company_is_plain(const shoal__company_t *company,
                                           uint64_t owed)
{
    return owed == company->plain;
}

#endif
