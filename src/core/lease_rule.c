/* SPDX-License-Identifier: MIT */
#include "core/lease_rule.h"

#include "base/bytes.h"
#include "core/result.h"
#include "resp/reply.h"
#include <shoal/errors.h>

static shoal__bytes_t text_of(const shoal_reply_t *reply)
{
    return (shoal__bytes_t){reply->as.text.data, reply->as.text.bytes};
}

static bool is_error(const shoal_reply_t *reply, const char *code)
{
    return reply && reply->type == SHOAL_REPLY_ERROR &&
           shoal__bytes_start(text_of(reply), code);
}

shoal__lease_outcome_t shoal__lease_outcome(const shoal_result_t *result)
{
    const shoal_reply_t *reply = result->reply;

    if (result->status != 0)
        return result->fate == SHOAL_FATE_NOT_EXECUTED ? SHOAL__LEASE_NOT_SENT
                                                       : SHOAL__LEASE_SILENT;
    if (is_error(reply, "EXECABORT "))
        return SHOAL__LEASE_ABORTED;
    if (is_error(reply, ""))
        return SHOAL__LEASE_REFUSED;
    if (reply && reply->type == SHOAL_REPLY_STATUS &&
        shoal__bytes_equal(text_of(reply), (shoal__bytes_t){"OK", 2}))
        return SHOAL__LEASE_OK;
    return SHOAL__LEASE_ANSWERED;
}

#define IN_TRANSACTION (SHOAL__LEASE_IN_MULTI | SHOAL__LEASE_WATCHES)

/* What an effect sets when its command was not refused; and what it clears, when the
 * reply was OK, or any at all. */
static const struct change {
    unsigned sets, clears_if_ok, clears;
} changes[SHOAL__LEASE_EFFECTS] = {
    [SHOAL__LEASE_MULTI] = {.sets = SHOAL__LEASE_IN_MULTI},
    [SHOAL__LEASE_EXEC] = {.clears = IN_TRANSACTION},
    [SHOAL__LEASE_DISCARD] = {.clears = IN_TRANSACTION},
    [SHOAL__LEASE_WATCH] = {.sets = SHOAL__LEASE_WATCHES},
    /* QUEUED does not unwatch. */
    [SHOAL__LEASE_UNWATCH] = {.clears_if_ok = SHOAL__LEASE_WATCHES},
    /* QUEUED: the EXEC selects. */
    [SHOAL__LEASE_SELECT] = {.sets = SHOAL__LEASE_OTHER_DATABASE},
    [SHOAL__LEASE_MONITOR] = {.sets = SHOAL__LEASE_CHANGED},
    [SHOAL__LEASE_OTHER] = {.sets = SHOAL__LEASE_CHANGED},
};

unsigned shoal__lease_after(unsigned bits, shoal__lease_effect_t effect,
                            shoal__lease_outcome_t outcome)
{
    const struct change *change = &changes[effect];

    switch (outcome) {
    case SHOAL__LEASE_SILENT:
        return bits | SHOAL__LEASE_UNREAD;
    case SHOAL__LEASE_ABORTED:
        return effect == SHOAL__LEASE_EXEC ? bits & ~change->clears : bits;
    case SHOAL__LEASE_OK:
        return (bits & ~(change->clears | change->clears_if_ok)) | change->sets;
    case SHOAL__LEASE_ANSWERED:
        return (bits & ~change->clears) | change->sets;
    case SHOAL__LEASE_NOT_SENT:
    case SHOAL__LEASE_REFUSED:
    case SHOAL__LEASE_OUTCOMES:
        break;
    }
    return bits;
}

shoal__lease_cleaning_t shoal__lease_cleaning(unsigned bits)
{
    shoal__lease_cleaning_t cleaning = {
        .is_fit = !(bits & (SHOAL__LEASE_CHANGED | SHOAL__LEASE_UNREAD))};

    if (!cleaning.is_fit)
        return cleaning;
    cleaning.discard = (bits & SHOAL__LEASE_IN_MULTI) != 0;
    /* DISCARD unwatches too. */
    cleaning.unwatch = (bits & IN_TRANSACTION) == SHOAL__LEASE_WATCHES;
    cleaning.select = (bits & SHOAL__LEASE_OTHER_DATABASE) != 0;
    return cleaning;
}

/* The server let it go, or lost its slot or its role meanwhile, or never began. */
static bool has_popped_nothing(const shoal_reply_t *reply)
{
    static const char *const proofs[] = {"UNBLOCKED ",   "MOVED ",     "ASK ",
                                         "CLUSTERDOWN ", "TRYAGAIN ",  "READONLY ",
                                         "LOADING ",     "MASTERDOWN "};

    for (size_t i = 0; i < sizeof proofs / sizeof *proofs; i++)
        if (is_error(reply, proofs[i]))
            return true;
    return reply && reply->type == SHOAL_REPLY_NIL;
}

void shoal__lease_unblocked(shoal_result_t *result, int status, bool may_have_run)
{
    if (result->status == 0 && has_popped_nothing(result->reply)) {
        result->reply = NULL;
        result->fate = may_have_run ? SHOAL_FATE_UNKNOWN : SHOAL_FATE_NOT_EXECUTED;
        result->detail =
            may_have_run
                ? "an earlier attempt may have taken something; the last one did not"
                : "the server let the command go before it had anything for it";
    } else if (result->status != SHOAL_ETIMEOUT) {
        return;
    }
    result->status = status;
}
