/* SPDX-License-Identifier: MIT */
#include "client/reason.h"

#include "base/error.h"
#include "core/cluster/fan_rule.h"
#include "core/cluster/split_rule.h"
#include "core/lease_pool.h"
#include "core/refusal.h"
#include "resp/command_info.h"
#include "resp/command_slot.h"
#include "resp/encoder.h"
#include <inttypes.h>

/* Says what is wrong with one argument.  False: nothing. */
static bool say_argument(shoal_error_t *error, const shoal_command_t *command,
                         size_t at)
{
    const char *argument = command->argv[at];
    size_t bytes = command->argvlen ? command->argvlen[at]
                   : argument       ? strlen(argument)
                                    : 1;

    if (!argument && bytes > 0)
        shoal__error_say(error, SHOAL_EINVAL, "argument %zu is NULL", at);
    else if (bytes > SHOAL_ARG_BYTES_MAX)
        shoal__error_say(error, SHOAL_EINVAL,
                         "argument %zu has %zu bytes; at most %d are possible", at,
                         bytes, SHOAL_ARG_BYTES_MAX);
    else
        return false;
    return true;
}

static bool say_command(shoal_error_t *error, const shoal_command_t *command)
{
    if (command->argc == 0 || command->argc > SHOAL_ARGC_MAX) {
        shoal__error_say(error, SHOAL_EINVAL,
                         "a command of %zu words; 1 to %d are possible", command->argc,
                         SHOAL_ARGC_MAX);
        return true;
    }
    if (!command->argv) {
        shoal__error_say(error, SHOAL_EINVAL, "argv is NULL");
        return true;
    }
    for (size_t i = 0; i < command->argc; i++)
        if (say_argument(error, command, i))
            return true;
    return false;
}

static void say_invalid(const shoal__submission_t *submission)
{
    shoal_error_t *error = submission->call.error;

    if (submission->count == 0 || submission->count > SHOAL__PLAN_COMMANDS_MAX) {
        shoal__error_say(error, SHOAL_EINVAL,
                         "%zu commands at once; 1 to %d are possible",
                         submission->count, SHOAL__PLAN_COMMANDS_MAX);
        return;
    }
    for (size_t i = 0; i < submission->count; i++)
        if (shoal__encoder_bytes(&submission->commands[i]) == 0 &&
            say_command(error, &submission->commands[i]))
            return;
}

static void say_too_big(const shoal__submission_t *submission,
                        const shoal_options_t *options)
{
    shoal_error_t *error = submission->call.error;
    uint64_t sum_bytes = 0, bytes_max = options->bytes_max;

    for (size_t i = 0; i < submission->count; i++) {
        size_t bytes = shoal__encoder_bytes(&submission->commands[i]);
        if (bytes > UINT32_MAX) { /* whatever the bound is */
            shoal__error_say(error, SHOAL_ETOOBIG,
                             "a command of %zu bytes; one may have %" PRIu32, bytes,
                             UINT32_MAX);
            return;
        }
        sum_bytes += bytes;
    }
    if (sum_bytes > bytes_max)
        shoal__error_say(error, SHOAL_ETOOBIG,
                         "%" PRIu64 " bytes as they are sent; at most %" PRIu64
                         " may be outstanding (bytes_max)",
                         sum_bytes, bytes_max);
    else
        shoal__error_say(error, SHOAL_ETOOBIG,
                         "%zu commands at once; at most %zu may be queued (queued_max)",
                         submission->count, options->queued_max);
}

static const char *name_of(const shoal_command_t *command)
{
    size_t bytes = command->argvlen ? command->argvlen[0] : strlen(command->argv[0]);
    const shoal__command_info_t *info =
        shoal__command_info_find((shoal__bytes_t){command->argv[0], bytes});

    return info ? info->name : "the command";
}

static void say_refused_on_lease(const shoal__submission_t *submission)
{
    for (size_t i = 0; i < submission->count; i++) {
        const shoal_command_t *command = &submission->commands[i];
        shoal__lease_effect_t effect;
        const char *refused = shoal__refusal_check_on_lease(command, &effect).refused;
        if (!refused)
            continue;
        shoal__error_say(submission->call.error, SHOAL_EREFUSED, "%s: %s",
                         name_of(command), refused);
        return;
    }
}

static void say_refused(const shoal__submission_t *submission)
{
    shoal_error_t *error = submission->call.error;
    uint32_t flags = submission->call.flags;
    const char *refused = NULL;
    bool is_unit;

    for (size_t i = 0; i < submission->count && !(flags & SHOAL_CALL_CONTIGUOUS); i++) {
        const shoal_command_t *command = &submission->commands[i];
        shoal__admission_t admission = shoal__refusal_check(command, flags);
        refused = admission.wants_lease ? NULL : admission.refused;
        if (refused) {
            shoal__error_say(error, SHOAL_EREFUSED, "%s: %s", name_of(command),
                             refused);
            return;
        }
    }
    refused = shoal__refusal_check_group(submission->commands, submission->count, flags,
                                         &is_unit);
    if (refused)
        shoal__error_say(error, SHOAL_EREFUSED, "%s", refused);
}

/* What one server would execute. */
static void say_refused_by_cluster(const shoal__submission_t *submission)
{
    if (submission->call.route != SHOAL_ROUTE_AUTO) {
        say_refused(submission);
        if (submission->call.error->code == 0)
            shoal__error_say(submission->call.error, SHOAL_EREFUSED,
                             "commands that block, or stay together, do not go to "
                             "several nodes");
        return;
    }
    for (size_t i = 0; i < submission->count; i++) {
        const shoal_command_t *command = &submission->commands[i];
        shoal__fan_t fan = shoal__fan_of(command);
        if (!fan.is_refused && !shoal__fan_is_wide(&fan))
            continue;
        shoal__error_say(
            submission->call.error, SHOAL_EREFUSED,
            fan.is_refused ? "%s: each node of a cluster has its own answer; say which "
                             "of them get it (route)"
                           : "%s: it goes to several nodes of a cluster, and cannot "
                             "stay together with other commands",
            name_of(command));
        return;
    }
}

static void say_cross_slot(const shoal__submission_t *submission,
                           shoal__command_book_t *book)
{
    shoal_error_t *error = submission->call.error;
    bool may_split = (submission->call.flags & SHOAL_CALL_MAY_SPLIT) != 0;

    for (size_t i = 0; i < submission->count; i++) {
        const shoal_command_t *command = &submission->commands[i];
        bool is_splittable = shoal__split_may(command);
        if (shoal__command_slot(command, book) != SHOAL__SLOT_SEVERAL ||
            (may_split && is_splittable))
            continue;
        shoal__error_say(error, SHOAL_ECROSSSLOT,
                         "the keys of %s belong to several slots of the cluster: give "
                         "them a common {tag}%s",
                         name_of(command),
                         is_splittable ? ", or let the command be split" : "");
        return;
    }
    shoal__error_say(
        error, SHOAL_ECROSSSLOT,
        "the commands must stay together, and their keys belong to several "
        "slots of the cluster: give them a common {tag}");
}

/* The words name the bound that is exceeded now.  There may be room again by now: then
 * they name bytes_max. */
static void say_full(const shoal__submission_t *submission,
                     const shoal_options_t *options, const shoal__reason_load_t *load)
{
    const char *when = submission->call.flags & SHOAL_CALL_WAIT_FOR_ROOM
                           ? "no room before the deadline: "
                           : "";
    shoal_error_t *error = submission->call.error;

    if (load->lacks_lease)
        shoal__error_say(error, SHOAL_EFULL,
                         "%d leases and blocking commands are outstanding, of which %d "
                         "can wait for a connection",
                         SHOAL__LEASE_CONNECTIONS_MAX + SHOAL__LEASE_WAITING_MAX,
                         SHOAL__LEASE_WAITING_MAX);
    else if (load->lacks_half)
        shoal__error_say(
            error, SHOAL_EFULL,
            "%sthe node of the slot is down, and commands for such nodes may "
            "fill half of the room (queued_max, bytes_max)",
            when);
    else if (load->queued + submission->count > options->queued_max)
        shoal__error_say(error, SHOAL_EFULL,
                         "%s%" PRIu64 " commands wait to be written; at most %zu may "
                         "(queued_max)",
                         when, load->queued, options->queued_max);
    else
        shoal__error_say(error, SHOAL_EFULL,
                         "%s%" PRIu64 " bytes are outstanding; at most %" PRIu64
                         " may be (bytes_max)",
                         when, load->bytes, options->bytes_max);
}

int shoal__reason_say(const shoal__submission_t *submission,
                      const shoal_options_t *options, const shoal__reason_load_t *load,
                      int code)
{
    shoal_error_t *error = submission->call.error;

    if (!error)
        return code;
    if (code == SHOAL_EINVAL)
        say_invalid(submission);
    else if (code == SHOAL_ENOENT)
        shoal__error_say(error, code, "the client's server is not the node %s",
                         submission->call.route_node);
    else if (code == SHOAL_ETOOBIG)
        say_too_big(submission, options);
    else if (code == SHOAL_EREFUSED && submission->call.lease)
        say_refused_on_lease(submission);
    else if (code == SHOAL_EREFUSED) {
        if (shoal__options_topology(options) == SHOAL_TOPOLOGY_CLUSTER)
            say_refused_by_cluster(submission);
        if (error->code == 0)
            say_refused(submission);
    } else if (code == SHOAL_ECROSSSLOT)
        say_cross_slot(submission, load->book);
    else if (code == SHOAL_EFULL)
        say_full(submission, options, load);
    return shoal__error_plain(error, code);
}
