/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_CREDENTIALS_RULE_H
#define SHOAL_CORE_CREDENTIALS_RULE_H

/*
 * When is the program's provider asked for credentials?
 *
 *   - before the first connection is greeted, which waits for the answer;
 *   - when the time is over after which the last answer is to be renewed;
 *   - when it failed or was late: after 1 s, 2 s, 4 s and so on, up to 60 s;
 *   - when a server refused what it gave: at once, but not within 1 s, 2 s, 4 s and so on, up
 *     to 60 s, of the last question.  This starts anew if there was no refusal for 120 s.
 *     All refusals between two questions count as one: each connection has its own.
 *
 * One question at a time.  A failure changes no credentials.
 */

#include <stdbool.h>
#include <stdint.h>

#define SHOAL__CREDENTIALS_PAUSE_US_MIN 1000000
#define SHOAL__CREDENTIALS_PAUSE_US_MAX 60000000

typedef struct shoal__credentials_rule {
    uint64_t timeout_us; /* of a question */
    uint64_t next_us;    /* ask then */
    uint64_t asked_us;   /* the last question began */
    uint64_t refused_us; /* a server refused last; 0: none did */
    unsigned failures;   /* of the provider, in a row */
    unsigned refusals;   /* of servers, in a row */
    bool is_asking;      /* a question is under way */
    bool is_refused;     /* a server refused since the last question began */
    bool has_outcome;    /* one was answered, or failed */
} shoal__credentials_rule_t;

/* The first question is due. */
void shoal__credentials_rule_init(shoal__credentials_rule_t *rule, uint64_t timeout_us);

/* Is it time to ask?  Then a question is under way. */
bool shoal__credentials_rule_asks(shoal__credentials_rule_t *rule, uint64_t now_us);

/* Is the answer late? */
bool shoal__credentials_rule_is_late(const shoal__credentials_rule_t *rule,
                                     uint64_t now_us);

/* What became of the question.  refresh_us: ask again after that time, 1 s at least; 0:
 * never. */
void shoal__credentials_rule_given(shoal__credentials_rule_t *rule, uint64_t refresh_us,
                                   uint64_t now_us);
void shoal__credentials_rule_failed(shoal__credentials_rule_t *rule, uint64_t now_us);

/* A server refused the credentials. */
void shoal__credentials_rule_refused(shoal__credentials_rule_t *rule, uint64_t now_us);

/* When to look again, if nothing but time passes. */
uint64_t shoal__credentials_rule_wake_us(const shoal__credentials_rule_t *rule);

#endif
