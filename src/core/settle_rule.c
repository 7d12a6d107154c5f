/* SPDX-License-Identifier: MIT */
#include "core/settle_rule.h"

#include <shoal/errors.h>

static bool is_sent(const shoal__settle_input_t *input)
{
    return input->progress == SHOAL__PROGRESS_WRITTEN ||
           input->progress == SHOAL__PROGRESS_REPLYING;
}

/* May it be executed twice? */
static bool is_repeatable(const shoal__settle_input_t *input)
{
    if (input->is_once)
        return false;
    return input->is_idempotent ||
           (input->command_class == SHOAL__CLASS_RO && !input->is_unit);
}

static shoal_fate_t fate_of(const shoal__settle_input_t *input)
{
    if (input->progress == SHOAL__PROGRESS_REPLYING)
        return SHOAL_FATE_REPLY_LOST;
    if (input->progress == SHOAL__PROGRESS_WRITTEN || input->was_written)
        return SHOAL_FATE_UNKNOWN;
    return SHOAL_FATE_NOT_EXECUTED;
}

static shoal__settlement_t fail(const shoal__settle_input_t *input, int status)
{
    return (shoal__settlement_t){SHOAL__SETTLE_FAIL, status, fate_of(input)};
}

/* The caller gives up; the connection lives on. */
static shoal__settlement_t give_up(const shoal__settle_input_t *input, int status)
{
    if (input->progress == SHOAL__PROGRESS_QUEUED)
        return fail(input, status);

    shoal_fate_t fate = fate_of(input);
    /* The rest must still be written to keep the framing, and then it may run. */
    if (input->progress == SHOAL__PROGRESS_PARTLY)
        fate = SHOAL_FATE_UNKNOWN;
    return (shoal__settlement_t){SHOAL__SETTLE_ZOMBIE, status, fate};
}

/* The connection is gone; the caller still waits. */
static shoal__settlement_t survive(const shoal__settle_input_t *input, int sent_status)
{
    if (is_sent(input)) {
        if (is_repeatable(input) && input->may_retry && input->queue_offline &&
            !input->is_guilty)
            return (shoal__settlement_t){.action = SHOAL__SETTLE_RETRY};
        return fail(input, sent_status);
    }

    bool had_its_attempt = input->is_once && input->progress != SHOAL__PROGRESS_QUEUED;
    bool may_have_run = input->was_written && !is_repeatable(input);
    if (!input->queue_offline || had_its_attempt || may_have_run || input->is_guilty)
        return fail(input, SHOAL_ECONN);
    if (input->ending == SHOAL__ENDING_AUTH)
        return fail(input, SHOAL_EAUTH);
    if (input->ending == SHOAL__ENDING_TLS)
        return fail(input, SHOAL_ETLS);
    return (shoal__settlement_t){.action = SHOAL__SETTLE_KEEP};
}

shoal__settlement_t shoal__settle(const shoal__settle_input_t *input)
{
    switch (input->ending) {
    case SHOAL__ENDING_TIMEOUT:
        return give_up(input, SHOAL_ETIMEOUT);
    case SHOAL__ENDING_CANCEL:
        return give_up(input, SHOAL_ECANCELLED);
    case SHOAL__ENDING_LOST:
    case SHOAL__ENDING_RENEWED:
    case SHOAL__ENDING_AUTH:
    case SHOAL__ENDING_TLS:
        return survive(input, SHOAL_ECONN);
    case SHOAL__ENDING_DESYNC:
        return survive(input, SHOAL_EDESYNC);
    case SHOAL__ENDING_SHUTDOWN:
        break;
    }
    return fail(input, SHOAL_ESHUTDOWN);
}
