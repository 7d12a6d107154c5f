/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_RETRY_BUDGET_H
#define SHOAL_CORE_RETRY_BUDGET_H

/*
 * How many lost connections may have their commands repeated.
 *
 * The budget is a bucket of tokens: what one loss repeats takes one, an answered command
 * gives back a tenth, and only the upper half may be spent, so that a server in trouble
 * gets at most a tenth more load.  (I13)
 */

#include <stdbool.h>

#define SHOAL__RETRY_TOKENS_10_FULL 100
#define SHOAL__RETRY_TOKENS_10_RESERVE 50

typedef struct shoal__retry_budget {
    unsigned tokens_10; /* tenths of a token */
} shoal__retry_budget_t;

static inline void shoal__retry_budget_init(shoal__retry_budget_t *budget)
{
    budget->tokens_10 = SHOAL__RETRY_TOKENS_10_FULL;
}

static inline bool shoal__retry_budget_allows(const shoal__retry_budget_t *budget)
{
    return budget->tokens_10 > SHOAL__RETRY_TOKENS_10_RESERVE;
}

/* Commands of one loss are repeated. */
static inline void shoal__retry_budget_spend(shoal__retry_budget_t *budget)
{
    budget->tokens_10 = budget->tokens_10 > 10 ? budget->tokens_10 - 10 : 0;
}

/* A command was answered. */
static inline void shoal__retry_budget_earn(shoal__retry_budget_t *budget)
{
    if (budget->tokens_10 < SHOAL__RETRY_TOKENS_10_FULL)
        budget->tokens_10++;
}

#endif
