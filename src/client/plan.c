/* SPDX-License-Identifier: MIT */
#include "client/plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/time_us.h"
#include "core/block_time.h"
#include "core/cluster/fan_rule.h"
#include "core/cluster/split_rule.h"
#include "core/lane_rule.h"
#include "core/replica_rule.h"
#include "core/target_name.h"
#include "resp/command_slot.h"
#include "resp/encoder.h"
#include <shoal/errors.h>

#define CALL_FLAGS_ALL                                                                 \
    (SHOAL_CALL_IDEMPOTENT | SHOAL_CALL_ONCE | SHOAL_CALL_URGENT |                     \
     SHOAL_CALL_WAIT_FOR_ROOM | SHOAL_CALL_MAY_BLOCK | SHOAL_CALL_CONTIGUOUS |         \
     SHOAL_CALL_SINK_HERE | SHOAL_CALL_BULK | SHOAL_CALL_SINK_SHARED |                 \
     SHOAL_CALL_PRIMARY | SHOAL_CALL_REPLICA | SHOAL_CALL_MAY_SPLIT)

static bool is_whole(const shoal_sink_t *sink)
{
    return sink->on_leaf && sink->on_begin && sink->on_end && sink->on_reset;
}

static bool is_whole_chunks(const shoal_chunk_sink_t *sink)
{
    return sink->on_begin && sink->on_chunk && sink->on_end && sink->on_reset;
}

static bool refuse(const shoal_call_t *call, const char *why)
{
    shoal__error_say(call->error, SHOAL_EINVAL, "%s", why);
    return false;
}

static bool is_route(const shoal_call_t *call)
{
    bool names_node = call->route_node && call->route_node[0];

    return call->route <= SHOAL_ROUTE_NODE &&
           (call->route != SHOAL_ROUTE_SLOT || call->route_slot < SHOAL__SLOTS) &&
           (call->route != SHOAL_ROUTE_NODE || names_node) &&
           (call->route == SHOAL_ROUTE_AUTO || !call->lease);
}

bool shoal__call_read(const shoal_call_t *call, shoal_call_t *ret_call)
{
    *ret_call = (shoal_call_t)SHOAL_CALL_INIT;
    if (!call)
        return true;
    if (!shoal__sized_is_set(call->size, SHOAL__CALL_BYTES_MIN, sizeof *call) ||
        !shoal__error_begin(call->error))
        return false;
    if (call->reserved || (call->flags & ~(uint32_t)CALL_FLAGS_ALL))
        return refuse(call, "a flag is not known, or reserved is not 0");
    if (call->sink && !is_whole(call->sink))
        return refuse(call, "the sink lacks a function");
    if (!shoal__sized_read(call, ret_call, sizeof *ret_call))
        return refuse(call, "a field is used that this version does not know");
    if (ret_call->chunks && !is_whole_chunks(ret_call->chunks))
        return refuse(call, "the chunk sink lacks a function");
    if (!is_route(ret_call))
        return refuse(call,
                      "the route is none: its slot or its node is missing, or the "
                      "commands are for a lease");
    return true;
}

/* The sizes of the commands, and how many arguments are large.  0 or why not. */
static int measure(shoal__plan_t *plan, const shoal_options_t *options,
                   size_t *ret_large)
{
    const shoal__submission_t *submission = plan->submission;

    *ret_large = 0;
    for (size_t i = 0; i < submission->count; i++) {
        const shoal_command_t *command = &submission->commands[i];
        size_t bytes = shoal__encoder_bytes(command), large_bytes;
        if (bytes == 0)
            return SHOAL_EINVAL;
        if (bytes > UINT32_MAX || bytes > options->bytes_max - plan->bytes)
            return SHOAL_ETOOBIG;
        plan->bytes += bytes;
        if (bytes >= SHOAL_REFERENCE_BYTES_MIN) {
            *ret_large += shoal__encoder_large(command, &large_bytes);
            plan->large_bytes += large_bytes;
        }
    }
    return submission->count > options->queued_max ? SHOAL_ETOOBIG : 0;
}

/* On a lease the commands are a unit if they look like one. */
static int admit_on_lease(shoal__plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;
    uint32_t flags = submission->call.flags;

    if ((flags & SHOAL_CALL_CONTIGUOUS) &&
        shoal__refusal_check_group(submission->commands, submission->count,
                                   flags | SHOAL_CALL_MAY_BLOCK, &plan->is_unit))
        plan->is_unit = false;
    for (size_t i = 0; i < submission->count; i++) {
        shoal__lease_effect_t effect;
        if (shoal__refusal_check_on_lease(&submission->commands[i], &effect).refused &&
            !submission->is_monitor)
            return SHOAL_EREFUSED;
    }
    return 0;
}

/* May each command travel on a connection that others share, or on a lease?  0 or
 * SHOAL_EREFUSED. */
static int admit(shoal__plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;
    uint32_t flags = submission->call.flags;

    if (submission->call.lease)
        return admit_on_lease(plan);

    if ((flags & SHOAL_CALL_CONTIGUOUS) &&
        shoal__refusal_check_group(submission->commands, submission->count, flags,
                                   &plan->is_unit))
        return SHOAL_EREFUSED;
    for (size_t i = 0; !plan->is_unit && i < submission->count; i++) {
        plan->admission = shoal__refusal_check(&submission->commands[i], flags);
        if (plan->admission.refused && !plan->admission.wants_lease)
            return SHOAL_EREFUSED;
        plan->leases += plan->admission.wants_lease;
    }
    return 0;
}

/* Do the commands of one call stay together?  A sink takes one reply after the other. */
static bool is_group(const shoal_call_t *call)
{
    return (call->flags & SHOAL_CALL_CONTIGUOUS) ||
           ((call->sink || call->chunks) && !(call->flags & SHOAL_CALL_SINK_SHARED));
}

/* Do they take the same connection? */
static bool is_together(const shoal_call_t *call, const shoal_options_t *options)
{
    bool is_one = options->connections <= 1 && !shoal__options_use_replicas(options) &&
                  shoal__options_topology(options) == SHOAL_TOPOLOGY_STANDALONE;

    return is_one || is_group(call);
}

/* The first key says which node the lease gets.  That node has the last word on all others. */
static int find_slot_of_lease(shoal__plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;

    for (size_t i = 0; plan->slot >= SHOAL__SLOTS && i < submission->count; i++)
        plan->slot = shoal__command_slot(&submission->commands[i], plan->book);
    plan->has_one_slot = true;
    return 0;
}

/* Commands that stay together are for one node. */
static bool may_split(const shoal__plan_t *plan, const shoal_command_t *command)
{
    const shoal__submission_t *submission = plan->submission;

    return (submission->call.flags & SHOAL_CALL_MAY_SPLIT) &&
           (submission->count == 1 || !plan->is_together) && shoal__split_may(command);
}

/* Its keys' slot; or SPREAD, because several nodes get it. */
static unsigned slot_of_itself(const shoal__plan_t *plan,
                               const shoal_command_t *command)
{
    unsigned slot = shoal__command_slot(command, plan->book);
    shoal__fan_t fan;

    if (slot == SHOAL__SLOT_SEVERAL && may_split(plan, command))
        return SHOAL__SLOT_SPREAD;
    if (slot != SHOAL__SLOT_NONE)
        return slot;
    fan = shoal__fan_of(command);
    return shoal__fan_is_wide(&fan) ? SHOAL__SLOT_SPREAD : SHOAL__SLOT_NONE;
}

/* Where the route of a cluster sends a command: its slot, as resp/command_slot.h counts. */
static unsigned slot_of(const shoal__plan_t *plan, size_t i)
{
    const shoal_call_t *call = &plan->submission->call;

    switch (call->route) {
    case SHOAL_ROUTE_AUTO:
        return slot_of_itself(plan, &plan->submission->commands[i]);
    case SHOAL_ROUTE_ANY:
        return SHOAL__SLOT_NONE;
    case SHOAL_ROUTE_SLOT:
        return call->route_slot;
    default:
        return SHOAL__SLOT_SPREAD;
    }
}

/* Commands that stay together can go to one node, but not to several. */
static bool is_spread_apart(const shoal__plan_t *plan, unsigned slot)
{
    const shoal__submission_t *submission = plan->submission;

    return slot == SHOAL__SLOT_SPREAD && plan->is_together && submission->count > 1 &&
           submission->call.route != SHOAL_ROUTE_NODE;
}

/* A cluster: has each command one slot, and those that stay together the same?  0 or why
 * not. */
static int find_slots(shoal__plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;
    bool is_same = true;

    plan->has_slots = true;
    plan->slot = SHOAL__SLOT_NONE;
    if (submission->call.lease)
        return find_slot_of_lease(plan);
    for (size_t i = 0; i < submission->count; i++) {
        unsigned slot = slot_of(plan, i);
        if (slot == SHOAL__SLOT_SEVERAL)
            return SHOAL_ECROSSSLOT;
        if (is_spread_apart(plan, slot))
            return SHOAL_EREFUSED;
        if (slot == SHOAL__SLOT_NONE) {
            if (submission->call.route == SHOAL_ROUTE_AUTO &&
                shoal__fan_of(&submission->commands[i]).is_refused)
                return SHOAL_EREFUSED;
            is_same = false;
            continue;
        }
        bool differs = plan->slot != SHOAL__SLOT_NONE && slot != plan->slot;
        if (differs && plan->is_together)
            return SHOAL_ECROSSSLOT;
        is_same = is_same && !differs;
        plan->slot = slot;
        plan->is_spread = plan->is_spread || slot == SHOAL__SLOT_SPREAD;
    }
    plan->has_one_slot = plan->is_together || is_same || submission->count == 1;
    /* A lease is for a key. */
    return plan->leases > 0 && submission->call.route ? SHOAL_EREFUSED : 0;
}

/* One server: is it the one that the caller names? */
static bool is_named(const shoal_call_t *call, const shoal_options_t *options)
{
    char name[SHOAL__TARGET_NAME_BYTES];

    if (call->route != SHOAL_ROUTE_NODE)
        return true;
    for (unsigned i = 0; i < options->addresses_count; i++) {
        const shoal__option_address_t *address = &options->addresses[i];
        if (address->host)
            shoal__target_name(name, address->host, address->port);
        if (strcmp(address->host ? name : address->unix_path, call->route_node) == 0)
            return true;
    }
    return false;
}

/* AUTO: what a cluster would refuse is a result if there is one.  Of commands that block the
 * node itself refuses what it must. */
static int postpone(shoal__plan_t *plan, int refusal)
{
    plan->has_one_slot = true;
    plan->slot = SHOAL__SLOT_NONE;
    if (plan->leases > 0)
        return 0;
    plan->slot = SHOAL__SLOT_SPREAD;
    plan->is_spread = true;
    plan->refusal = refusal;
    return 0;
}

/* Which servers may the commands be for?  0 or why none. */
static int find_place(shoal__plan_t *plan, const shoal_options_t *options)
{
    const shoal_call_t *call = &plan->submission->call;
    shoal_topology_t topology = shoal__options_topology(options);
    int rc = 0;

    if (topology != SHOAL_TOPOLOGY_CLUSTER && !is_named(call, options))
        return SHOAL_ENOENT;
    if (topology == SHOAL_TOPOLOGY_STANDALONE)
        return 0;
    plan->has_route = call->route != SHOAL_ROUTE_AUTO;
    rc = find_slots(plan);
    return rc < 0 && topology == SHOAL_TOPOLOGY_AUTO ? postpone(plan, rc) : rc;
}

unsigned shoal__plan_slot(const shoal__plan_t *plan, size_t i)
{
    return plan->has_one_slot ? plan->slot : slot_of(plan, i);
}

static uint16_t request_flags(const shoal_call_t *call, bool is_unit)
{
    uint32_t call_flags = call->flags;
    /* What a lease's connection knew is not known to the next one. */
    uint16_t flags = call->lease ? SHOAL__REQUEST_LEASED | SHOAL__REQUEST_ONCE : 0;

    if (call_flags & SHOAL_CALL_IDEMPOTENT)
        flags |= SHOAL__REQUEST_IDEMPOTENT;
    if (call_flags & SHOAL_CALL_ONCE)
        flags |= SHOAL__REQUEST_ONCE;
    if (call_flags & SHOAL_CALL_URGENT)
        flags |= SHOAL__REQUEST_URGENT;
    if (is_unit)
        flags |= SHOAL__REQUEST_UNIT;
    return flags;
}

/* Room for the references of each command. */
static void share_references(const shoal__plan_t *plan)
{
    const shoal__submission_t *submission = plan->submission;
    shoal__reference_t *next = shoal__extra_references(plan->extra, submission->count);

    for (size_t i = 0; i < submission->count; i++) {
        shoal__values_t *values = &plan->extra->values[i];
        size_t bytes;
        values->references = next;
        values->count =
            (uint32_t)shoal__encoder_large(&submission->commands[i], &bytes);
        values->bytes = (uint32_t)bytes;
        next += values->count;
    }
}

/* The last step, because it allocates.  0 or SHOAL_ENOMEM. */
static int make_extra(shoal__plan_t *plan, size_t large)
{
    const shoal__submission_t *submission = plan->submission;
    const shoal_call_t *call = &submission->call;
    /* What goes to several nodes is copied for each of them. */
    bool refers =
        large > 0 && (submission->is_lent || call->on_release) && !plan->is_spread;
    shoal__extra_t *extra;

    if (!call->sink && !call->chunks && !call->lease && !call->on_release && !refers &&
        !plan->has_route && plan->refusal == 0)
        return 0;
    extra = shoal__extra_new(submission->count, refers ? large : 0);
    if (!extra)
        return SHOAL_ENOMEM;
    if (plan->has_route && !shoal__extra_take_route(extra, call)) {
        shoal__free(extra);
        return SHOAL_ENOMEM;
    }
    extra->refusal = plan->refusal;
    extra->sink = call->sink;
    extra->is_sink_shared = (call->flags & SHOAL_CALL_SINK_SHARED) != 0;
    extra->chunks = call->chunks;
    extra->sink_data = call->sink_data;
    extra->lease = call->lease;
    extra->on_release = call->on_release;
    extra->release_data = call->release_data;
    extra->first_tag = submission->first_tag;
    plan->extra = extra;
    if (refers) {
        plan->referred_bytes = plan->large_bytes;
        share_references(plan);
    }
    return 0;
}

/* Has the route to look at a command alone?  See SHOAL__REQUEST_APART. */
static bool is_apart(const shoal_call_t *call, size_t bytes,
                     shoal__command_class_t command_class)
{
    return bytes > SHOAL__LANE_REQUEST_BYTES || (call->flags & SHOAL_CALL_BULK) ||
           command_class == SHOAL__CLASS_BLOCK;
}

/* May replicas execute those of the commands that only read?  A command that goes to a
 * replica may have to go on to another server, alone.  In a cluster the nodes say which
 * replicas there are; else the program may have named some. */
static bool may_leave_primary(const shoal__plan_t *plan, const shoal_options_t *options)
{
    const shoal_call_t *call = &plan->submission->call;
    bool is_wanted = options->read_from != SHOAL_READ_PRIMARY ||
                     (call->flags & SHOAL_CALL_REPLICA) != 0;
    bool may_be = shoal__options_use_replicas(options) ||
                  shoal__options_topology(options) == SHOAL_TOPOLOGY_CLUSTER;

    return may_be && is_wanted &&
           !(call->flags & (SHOAL_CALL_PRIMARY | SHOAL_CALL_ONCE)) && !call->lease &&
           !plan->has_route && (plan->submission->count == 1 || !plan->is_together);
}

int shoal__plan_make(const shoal__submission_t *submission,
                     const shoal_options_t *options, shoal__command_book_t *book,
                     shoal__plan_t *ret_plan)
{
    const shoal_call_t *call = &submission->call;
    shoal__plan_t plan = {.submission = submission, .book = book};
    size_t large;
    int rc;

    if (submission->count == 0 || submission->count > SHOAL__PLAN_COMMANDS_MAX)
        return SHOAL_EINVAL;
    rc = measure(&plan, options, &large);
    if (rc == 0)
        rc = admit(&plan);
    plan.is_together = is_together(call, options);
    if (rc == 0)
        rc = find_place(&plan, options);
    if (rc == 0)
        rc = make_extra(&plan, large);
    if (rc < 0)
        return rc;
    plan.flags = request_flags(call, plan.is_unit);
    plan.may_leave_primary = may_leave_primary(&plan, options);
    /* No command of it can be large, or a WAIT, otherwise. */
    plan.may_be_apart =
        (plan.bytes > SHOAL__LANE_REQUEST_BYTES ||
         (call->flags & (SHOAL_CALL_BULK | SHOAL_CALL_MAY_BLOCK)) != 0) &&
        options->has_bulk_lane;
    if (plan.may_be_apart && submission->count == 1 &&
        is_apart(call, plan.bytes, plan.admission.command_class))
        plan.flags |= SHOAL__REQUEST_APART;
    plan.timeout_us = call->timeout_us ? call->timeout_us : options->timeout_us;
    *ret_plan = plan;
    return 0;
}

uint64_t shoal__plan_timeout_us(const shoal_command_t *command,
                                const shoal_call_t *call,
                                const shoal_options_t *options)
{
    shoal__lease_effect_t effect;
    bool blocks_on_lease;

    if (call->timeout_us)
        return call->timeout_us;
    blocks_on_lease =
        call->lease ? shoal__refusal_check_on_lease(command, &effect).command_class ==
                          SHOAL__CLASS_BLOCK
                    : shoal__refusal_check(command, call->flags).wants_lease;
    return blocks_on_lease ? shoal__block_time_us(command) : options->timeout_us;
}

/* A request of a lease, or of a blocking command, which gets one. */
static void make_leased(const shoal__plan_t *plan, size_t i, bool blocks,
                        shoal__request_t *request)
{
    const shoal__submission_t *submission = plan->submission;

    request->flags |= SHOAL__REQUEST_LEASED;
    if (blocks && submission->call.timeout_us == 0)
        request->deadline_us = shoal__time_after(
            request->submitted_us, shoal__block_time_us(&submission->commands[i]));
}

/* What a request is told that is not the only one of its call. */
static void make_one_of_many(const shoal__plan_t *plan, size_t i,
                             shoal__request_t *request)
{
    bool is_last = i + 1 == plan->submission->count;
    uint16_t flags = 0;

    if (plan->is_unit && i == 0)
        flags |= SHOAL__REQUEST_UNIT_FIRST;
    if (plan->is_unit && is_last)
        flags |= SHOAL__REQUEST_UNIT_LAST;
    if (plan->may_be_apart &&
        is_apart(&plan->submission->call, request->bytes, request->command_class))
        flags |= SHOAL__REQUEST_APART;
    request->flags |= flags;
    request->has_more = !is_last && plan->is_together;
    request->is_grouped = is_group(&plan->submission->call);
}

static bool is_for_replica(const shoal_command_t *command,
                           const shoal__request_t *request)
{
    const char *name = command->argv[0];
    size_t bytes = command->argvlen ? command->argvlen[0] : strlen(name);

    return !(request->flags & (SHOAL__REQUEST_LEASED | SHOAL__REQUEST_APART)) &&
           shoal__replica_may_read((shoal__bytes_t){name, bytes},
                                   request->command_class);
}

void shoal__plan_request(const shoal__plan_t *plan, size_t i, uint64_t now_us,
                         shoal__request_t *ret_request)
{
    const shoal__submission_t *submission = plan->submission;
    bool is_only = submission->count == 1;
    shoal__admission_t admission = plan->admission;
    shoal__lease_effect_t effect = SHOAL__LEASE_NONE;

    if (submission->call.lease) {
        admission = shoal__refusal_check_on_lease(&submission->commands[i], &effect);
        /* In a transaction it does not block: one deadline for the whole unit. */
        admission.wants_lease =
            !plan->is_unit && admission.command_class == SHOAL__CLASS_BLOCK;
        admission.shape = (shoal__reply_shape_t)effect; /* see core/request.h */
    } else if (plan->is_unit)
        admission.shape =
            shoal__refusal_unit_shape(submission->commands, submission->count, i);
    else if (!is_only)
        admission =
            shoal__refusal_check(&submission->commands[i], submission->call.flags);
    *ret_request = (shoal__request_t){
        .on_result = submission->on_result,
        .data = submission->data,
        .tag = submission->first_tag + i,
        .submitted_us = SHOAL__REQUEST_TIME(now_us),
        .deadline_us = shoal__time_after(now_us, plan->timeout_us),
        .extra = plan->extra,
        .bytes = (uint32_t)(is_only ? plan->bytes
                                    : shoal__encoder_bytes(&submission->commands[i])),
        .flags = plan->flags,
        .command_class = admission.command_class,
        .shape = admission.shape & (SHOAL__SHAPE_LIMIT - 1u),
    };
    if (submission->call.lease || admission.wants_lease)
        make_leased(plan, i, admission.wants_lease, ret_request);
    if (!is_only)
        make_one_of_many(plan, i, ret_request);
    /* A whole unit leaves nothing to rely on. */
    if (!plan->is_unit && effect != SHOAL__LEASE_NONE)
        ret_request->flags |= SHOAL__REQUEST_STATE;
    if (plan->referred_bytes > 0)
        ret_request->bytes -= plan->extra->values[i].bytes;
    if (plan->may_leave_primary &&
        is_for_replica(&submission->commands[i], ret_request))
        ret_request->flags |= SHOAL__REQUEST_FOR_REPLICA;
}

char *shoal__plan_write(const shoal__plan_t *plan, size_t i, char *at)
{
    const shoal_command_t *command = &plan->submission->commands[i];

    if (plan->referred_bytes == 0)
        return shoal__encoder_write(command, at);
    return shoal__encoder_write_small(command, at, plan->extra->values[i].references);
}
