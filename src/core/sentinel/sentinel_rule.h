/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_SENTINEL_RULE_H
#define SHOAL_CORE_SENTINEL_RULE_H

/*
 * Which server is the primary, by what the sentinels say; and when to ask them.
 *
 * Each sentinel has a slot.  A *round* asks all of them; what they answered then is their
 * view.  The sentinels give each failover a higher configuration epoch, so:
 *
 *   - the view of the highest epoch counts; of several views of that epoch, the one that
 *     most sentinels have.  But if the epoch is new, the former primary is not its primary:
 *     the sentinel that leads a failover names it until all replicas follow the new one;
 *   - an address that was tried in vain stands back behind those that were not;
 *   - what was chosen stays until it was tried, if those that answer next have not heard of
 *     that failover yet;
 *   - a view that is not newer than what was proved last, and names another address, counts
 *     only if most of the sentinels that are known have it, and none that has not answered
 *     yet was newer.  Sentinels hear late of a failover, and one that was cut off does not
 *     hear of it; but an operator who removes a primary and adds it anew begins again with
 *     epoch 0;
 *   - if no connection works, and for 30 s nothing but such older views was heard, what was
 *     proved before is forgotten: a client that begins now would believe them.
 *
 * An address is *proved* when the server there said that it is the primary.  A sentinel
 * that says a high epoch proves nothing by that.
 */

#include "core/sentinel/sentinel_reply.h"

#define SHOAL__SENTINELS_MAX 16
#define SHOAL__SENTINEL_TRIED_MAX 16

#define SHOAL__SENTINEL_POLL_US 5000000 /* ask again, whether or not anything happens */
#define SHOAL__SENTINEL_ROUND_US 300000 /* wait so long for those that are silent */
#define SHOAL__SENTINEL_GAP_US 100000   /* between the beginnings of two rounds */
#define SHOAL__SENTINEL_BACKOFF_US_MAX 1000000 /* between two attempts to connect */
#define SHOAL__SENTINEL_OLD_US 30000000 /* then older views are better than none */
#define SHOAL__SENTINEL_FAILURES_MAX 5  /* of one that was found; then it is gone */
#define SHOAL__SENTINEL_CALM_FAILURES 2 /* then nobody waits for it */

/* What one sentinel said. */
typedef struct shoal__sentinel_voice {
    bool is_known; /* there is such a sentinel */
    bool is_seed;  /* the program named it */
    bool is_ready; /* its connection works */
    bool is_asked; /* its answer is due */
    bool has_news; /* it said that the primary was exchanged, since it was asked ... */
    bool is_awaited;   /* ... or before that: the round waits for its answer */
    bool has_view;     /* it answered in this round, and named an address */
    bool had_view;     /* when it answered last, over the connection that it has now */
    bool is_reaching;  /* its connection is being made: it may be asked yet */
    unsigned failures; /* of attempts to connect, since it was ready last */
    shoal__sentinel_view_t view;
} shoal__sentinel_voice_t;

typedef struct shoal__sentinel_rule {
    shoal__sentinel_voice_t voices[SHOAL__SENTINELS_MAX];
    shoal__sentinel_address_t best_address; /* the one that was proved last */
    uint64_t best_epoch;                    /* ... and its epoch */
    bool has_best;                          /* an address was proved */
    uint64_t stuck_us; /* since then nothing but older views was heard, and no
                                      connection works; 0: it is not so */
    shoal__sentinel_view_t chosen; /* port 0: nothing was chosen yet */
    bool is_open; /* whether that leads to the primary is not known yet */
    shoal__sentinel_address_t tried[SHOAL__SENTINEL_TRIED_MAX]; /* in vain, since an
                                                                   address was proved */
    size_t tried_count;
} shoal__sentinel_rule_t;

/* A new round, before the questions: nobody has answered yet.  An answer that is still due from the last round
 * will count. */
void shoal__sentinel_rule_begin(shoal__sentinel_rule_t *rule);

typedef enum shoal__sentinel_round {
    SHOAL__SENTINEL_WAIT,  /* for more answers */
    SHOAL__SENTINEL_DECIDE /* with those that came, perhaps none */
} shoal__sentinel_round_t;

/* Have enough sentinels answered?  Yes, if all have from which an answer can come.  If somebody
 * waits (is_urgent), most of those that are known are enough, if each that had news is among
 * them, and if one of their views counts: a sentinel that was newer and has not answered yet
 * may keep it from that.  After SHOAL__SENTINEL_ROUND_US one is enough, and none if no
 * connection is being made. */
shoal__sentinel_round_t shoal__sentinel_rule_look(const shoal__sentinel_rule_t *rule,
                                                  bool is_urgent, uint64_t begun_us,
                                                  uint64_t now_us);

/* Choose by the views of this round.  False: none of them counts, and the choice stays
 * as it was.  works: a connection to the primary does. */
bool shoal__sentinel_rule_choose(shoal__sentinel_rule_t *rule, bool works,
                                 uint64_t now_us);

/* The server of a view that was chosen, perhaps not the last one, could not be reached, or
 * said that it is no primary. */
void shoal__sentinel_rule_failed(shoal__sentinel_rule_t *rule,
                                 const shoal__sentinel_view_t *view);
/* ... said that it is the primary. */
void shoal__sentinel_rule_proved(shoal__sentinel_rule_t *rule,
                                 const shoal__sentinel_view_t *view);

/* ---- the sentinels themselves ---- */

/* Does the connection to one of them work? */
bool shoal__sentinel_rule_has_ready(const shoal__sentinel_rule_t *rule);

/* Has this sentinel ceased to be one, as far as the others can tell?  The program's own
 * stay.  One that is back is found again. */
bool shoal__sentinel_rule_is_gone(const shoal__sentinel_rule_t *rule, size_t voice);

/* Is no connection being made that somebody waits for?  Nobody waits for a sentinel that is
 * out of reach while another one works. */
bool shoal__sentinel_rule_is_calm(const shoal__sentinel_rule_t *rule);

#endif
