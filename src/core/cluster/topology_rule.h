/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_TOPOLOGY_RULE_H
#define SHOAL_CORE_TOPOLOGY_RULE_H

/*
 * When a node of a cluster is asked how the slots are divided.
 *
 *   - One question at a time.  A node that has not answered after 300 ms is given up, and
 *     another one is asked, if there is one.
 *   - URGENT: a slot has no owner that can be reached.  At once, and each 100 ms while that
 *     brings nothing new: a replica is promoted within the node timeout, 15 s by default, and
 *     commands wait for the news.  After 300 questions in vain the pause doubles, up to 2 s.
 *   - SOON: a node named another owner, which the map has noted already.  After a random
 *     part of 200 ms, and of more with many nodes, so that the clients of a cluster do not
 *     all ask at once; and not within 1 s of an answer that brought nothing new.
 *   - A node knows nodes that are up, and does not list them among the owners of slots and
 *     their replicas: a replica is listed when the others have heard how much it has copied.
 *     1, 3, 7, 15 and 31 s after this was seen first, and the random part of SOON later.  Some
 *     nodes are never listed: primaries without slots.
 *   - Each 60 s, give or take a tenth.
 *
 * Questions begin 100 ms apart at least.
 */

#include "base/random.h"
#include <stdbool.h>
#include <stdint.h>

#define SHOAL__TOPOLOGY_LATE_US 300000
#define SHOAL__TOPOLOGY_GAP_US 100000
#define SHOAL__TOPOLOGY_CALM_US 1000000
#define SHOAL__TOPOLOGY_URGENT_MAX 300
#define SHOAL__TOPOLOGY_URGENT_US_MAX 2000000
#define SHOAL__TOPOLOGY_POLL_US 60000000

typedef enum shoal__topology_wish {
    SHOAL__TOPOLOGY_SOON,
    SHOAL__TOPOLOGY_URGENT
} shoal__topology_wish_t;

/* All zero: nothing was ever asked, and a question is due. */
typedef struct shoal__topology_rule {
    bool is_asking;
    uint64_t asked_us; /* when the last question began; 0: never */
    uint64_t due_us;   /* the next one begins; not while is_asking */
    uint64_t soon_us;  /* SOON was wanted, for then; 0: not since the last question */
    /* Since then each view lacks nodes that are up, and the next question for that reason; 0:
     * none is lacking, and no more questions. */
    uint64_t lacks_us, again_us;
    unsigned in_vain; /* answers in a row that brought nothing new, or none came */
} shoal__topology_rule_t;

/* Also while a question is under way: then for the time after it. */
void shoal__topology_want(shoal__topology_rule_t *rule, shoal__topology_wish_t wish,
                          unsigned nodes, uint64_t now_us, shoal__random_t *random);

static inline bool shoal__topology_is_due(const shoal__topology_rule_t *rule,
                                          uint64_t now_us)
{
    return !rule->is_asking &&
           (now_us >= rule->due_us || (rule->again_us > 0 && now_us >= rule->again_us));
}
static inline bool shoal__topology_is_late(const shoal__topology_rule_t *rule,
                                           uint64_t now_us)
{
    return rule->is_asking && now_us >= rule->asked_us + SHOAL__TOPOLOGY_LATE_US;
}

/* It is due, and nobody can be asked. */
static inline void shoal__topology_put_off(shoal__topology_rule_t *rule,
                                           uint64_t now_us)
{
    rule->due_us = now_us + SHOAL__TOPOLOGY_GAP_US;
    if (rule->again_us > 0)
        rule->again_us = rule->due_us;
}

/* It is late, and nobody else can be asked: the answer is waited for. */
static inline void shoal__topology_wait_on(shoal__topology_rule_t *rule,
                                           uint64_t now_us)
{
    rule->asked_us = now_us + SHOAL__TOPOLOGY_GAP_US - SHOAL__TOPOLOGY_LATE_US;
}

/* A question begins; and it ended: with news, or without, or without an answer. */
void shoal__topology_begin(shoal__topology_rule_t *rule, unsigned nodes,
                           uint64_t now_us, shoal__random_t *random);
void shoal__topology_end(shoal__topology_rule_t *rule, bool is_news);

/* ... and the view lacks nodes that are up; or it has all of them. */
void shoal__topology_note_lack(shoal__topology_rule_t *rule, bool lacks_nodes,
                               unsigned nodes, uint64_t now_us,
                               shoal__random_t *random);

/* Is a view believed?  One that shares no node with what is known is of another cluster, to
 * which an address leads now; it is believed when for 30 s no node spoke for our cluster,
 * although one after the other was asked.  foreign_us: since when; 0: one did last. */
#define SHOAL__TOPOLOGY_FOREIGN_US 30000000
bool shoal__topology_believes(bool knows_us, uint64_t foreign_us, uint64_t now_us);

/* When a question is due, or late. */
uint64_t shoal__topology_next_us(const shoal__topology_rule_t *rule);

#endif
