/* SPDX-License-Identifier: MIT */
#include "pipe_world.h"

#include "base/time_us.h"
#include "core/refusal.h"
#include <shoal/errors.h>

#define WIRE_BYTES_MAX 96
#define CALLBACK_DEPTH_MAX 2

static shoal__command_class_t class_of(verb_t verb)
{
    switch (verb) {
    case VERB_ECHO:
    case VERB_LRANGE:
        return SHOAL__CLASS_RO;
    case VERB_EVAL:
        return SHOAL__CLASS_SCRIPT;
    case VERB_BLPOP:
        return SHOAL__CLASS_BLOCK;
    case VERB_INCR:
    case VERB_MULTI:
    case VERB_EXEC:
    case VERB_COUNT:
        break;
    }
    return SHOAL__CLASS_WRITE;
}

/* ---- values ---- */

/* True if the value names this call: a text that ends with its id, or its id as a
 * number. */
static bool names_call(const shoal_reply_t *leaf, uint32_t id)
{
    char text[CALL_ID_BYTES + 1];
    size_t bytes = 0;
    const char *said = shoal_reply_string(leaf, &bytes);

    if (shoal_reply_type(leaf) == SHOAL_REPLY_INTEGER)
        return shoal_reply_integer(leaf) == (int64_t)id;
    snprintf(text, sizeof text, "call:%04u", (unsigned)id % 10000);
    return said && bytes >= CALL_ID_BYTES &&
           memcmp(said + bytes - CALL_ID_BYTES, text, CALL_ID_BYTES) == 0;
}

static bool is_status(const shoal_reply_t *leaf, const char *text)
{
    size_t bytes = 0;
    const char *said = shoal_reply_string(leaf, &bytes);

    return shoal_reply_type(leaf) == SHOAL_REPLY_STATUS && bytes == strlen(text) &&
           memcmp(said, text, bytes) == 0;
}

static void on_leaf(const shoal_reply_t *leaf, void *data)
{
    call_t *call = data;
    uint32_t id = call_id(call);
    bool is_right;

    FUZZ_CHECK(!call->is_done, "the sink of %u is fed behind its result", id);
    if (call->verb == VERB_MULTI)
        is_right = is_status(leaf, "OK");
    else if (call->verb == VERB_EXEC)
        is_right = names_call(leaf, call->unit_first + 1 + (uint32_t)call->leaves);
    else if (call->unit_first)
        is_right = is_status(leaf, "QUEUED");
    else
        is_right = names_call(leaf, id);
    call->is_wrong |= !is_right;
    call->leaves++;
}

static void on_begin(shoal_reply_type_t type, size_t count, void *data)
{
    call_t *call = data;

    (void)type;
    (void)count;
    FUZZ_CHECK(!call->is_done, "the sink of %u is fed behind its result",
               call_id(call));
    call->depth++;
}

static void on_end(void *data)
{
    call_t *call = data;

    FUZZ_CHECK(call->depth-- > 0, "an end without a beginning");
}

static void on_reset(void *data)
{
    call_t *call = data;

    FUZZ_CHECK(!call->is_done, "the sink of %u is told behind its result",
               call_id(call));
    call->is_wrong = false;
    call->depth = call->leaves = 0;
}

static const shoal_sink_t sink = {on_leaf, on_begin, on_end, on_reset};

static void visit(call_t *call, const shoal_reply_t *reply)
{
    size_t count = shoal_reply_count(reply);

    if (count == 0)
        on_leaf(reply, call);
    for (size_t i = 0; i < count; i++)
        visit(call, shoal_reply_at(reply, i));
}

static size_t leaves_of(const call_t *call)
{
    if (call->verb == VERB_EXEC)
        return call->unit_last - call->unit_first - 1;
    return call->verb == VERB_LRANGE || call->verb == VERB_BLPOP ? 2 : 1;
}

/* If the server is honest, the answer must be this call's own.  (I1) */
static void check_reply(call_t *call, const shoal_result_t *result)
{
    const shoal_reply_t *reply = result->reply;
    uint32_t id = call_id(call);
    bool is_error = reply && shoal_reply_type(reply) == SHOAL_REPLY_ERROR;

    FUZZ_CHECK(call->depth == 0, "the sink of %u is left in the middle", id);
    FUZZ_CHECK(is_error || !reply == call->has_sink, "%u: the reply went elsewhere",
               id);
    if (reply && !is_error)
        visit(call, reply);
    if (call->world->is_lying)
        return;
    if (is_error)
        FUZZ_CHECK(names_call(reply, id) && call->leaves == 0, "%u has another's error",
                   id);
    else
        FUZZ_CHECK(!call->is_wrong && call->leaves == leaves_of(call),
                   "%u (%s) has another's reply", id, verb_name(call->verb));
    FUZZ_CHECK(call->handed > 0, "%u was answered, but never written", id);
}

/* ---- results ---- */

static void check_failure(const call_t *call)
{
    const world_t *world = call->world;
    uint32_t id = call_id(call);
    const call_t *deciding = call->unit_first ? &world->calls[call->unit_last] : call;

    FUZZ_CHECK(call->leaves == 0 && call->depth == 0,
               "%u failed, but its sink holds a part of a reply", id);
    FUZZ_CHECK(call->fate != SHOAL_FATE_NOT_EXECUTED || deciding->is_excused ||
                   deciding->handed <= deciding->rejected,
               "I4: %u was written %u times, but was \"not executed\"", id,
               deciding->handed);
    FUZZ_CHECK(call->status != SHOAL_ETIMEOUT || world->now_us >= call->deadline_us,
               "%u timed out before its deadline", id);
    FUZZ_CHECK(call->status != SHOAL_ECANCELLED || call->is_cancel_asked,
               "%u was cancelled by nobody", id);
}

static void act_in_callback(world_t *world)
{
    uint8_t act;

    if (world->is_closing || world->callback_depth >= CALLBACK_DEPTH_MAX)
        return;
    world->callback_depth++;
    act = fuzz_byte(world->in);
    if (act >= 0xf8)
        calls_submit(world, (verb_t)(act % VERB_MULTI), 0, 0, act & 1, 0);
    else if (act >= 0xf0 && world->call_count > 1)
        calls_cancel(world, 1 + fuzz_byte(world->in) % (world->call_count - 1));
    world->callback_depth--;
}

void calls_check_detail(const world_t *world, const char *detail)
{
    bool has_password = world->secret.password != NULL;

    /* A text that was cut may end with a part of the password: 4 bytes are too much. */
    FUZZ_CHECK(!has_password || !memmem(detail, strlen(detail), PASSWORD, 4),
               "the password is told: %s", detail);
}

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    call_t *call = data;
    world_t *world = call->world;
    uint32_t id = call_id(call);

    (void)client;
    FUZZ_CHECK(!call->is_done, "I2: %u completes twice", id);
    FUZZ_CHECK(result->tag == id, "I2: %u has the tag %llu", id,
               (unsigned long long)result->tag);
    FUZZ_CHECK((result->status == 0) == (result->fate == SHOAL_FATE_REPLIED),
               "%u has status %d and fate %d", id, result->status, (int)result->fate);
    FUZZ_CHECK(call->unit_first || result->attempts + call->held == call->handed,
               "%u was written %u times and held %u times, not %u", id, call->handed,
               call->held, result->attempts);
    calls_check_detail(world, result->detail);
    FUZZ_CHECK(!call->is_lent || call->released == 1,
               "%u has its result, and its memory was given back %u times", id,
               call->released);
    call->status = result->status;
    call->fate = result->fate;
    call->done_link = world->link;
    if (result->status == 0)
        check_reply(call, result);
    else
        check_failure(call);
    call->is_done = true;
    act_in_callback(world);
}

/* ---- submitting ---- */

static void write_name(const call_t *call, char name[CALL_ID_BYTES + 1])
{
    snprintf(name, CALL_ID_BYTES + 1, "call:%04u", (unsigned)call_id(call) % 10000);
}

/* What the log has of it: all but an argument that is lent. */
static size_t encode(const call_t *call, char *at)
{
    const char *name = verb_name(call->verb);
    char argument[CALL_ID_BYTES + 1];

    write_name(call, argument);
    return (size_t)snprintf(at, WIRE_BYTES_MAX, "*2\r\n$%zu\r\n%s\r\n$%d\r\n%s\r\n",
                            strlen(name), name, CALL_ID_BYTES,
                            call->is_lent ? "" : argument);
}

/* A read from now on is a read of freed memory. */
static void on_release(void *data)
{
    call_t *call = data;

    FUZZ_CHECK(call->released++ == 0, "%u is given back twice", call_id(call));
    free(call->lent);
    call->lent = NULL;
}

static void lend(call_t *call, shoal__extra_t *extra, size_t bytes)
{
    shoal__reference_t *value = shoal__extra_references(extra, 1);

    call->lent = malloc(CALL_ID_BYTES + 1);
    FUZZ_CHECK(call->lent, "no memory");
    write_name(call, call->lent);
    *value = (shoal__reference_t){call->lent, CALL_ID_BYTES, (uint32_t)bytes - 2};
    *extra->values = (shoal__values_t){value, 1, CALL_ID_BYTES};
    extra->on_release = on_release;
    extra->release_data = call;
    extra->first_tag = call_id(call);
}

/* NULL: it needs none. */
static shoal__extra_t *extra_of(call_t *call, size_t bytes)
{
    shoal__extra_t *extra;

    if (!call->has_sink && !call->is_lent)
        return NULL;
    extra = shoal__extra_new(1, call->is_lent);
    FUZZ_CHECK(extra, "no memory");
    if (call->has_sink) {
        extra->sink = &sink;
        extra->sink_data = call;
    }
    if (call->is_lent)
        lend(call, extra, bytes);
    return extra;
}

void calls_check_bytes(const world_t *world, const shoal__request_t *request,
                       const char *bytes)
{
    char wire[WIRE_BYTES_MAX];
    const call_t *call = request->data;

    FUZZ_CHECK(call == &world->calls[request->tag], "not the call's own request");
    FUZZ_CHECK(encode(call, wire) == request->bytes &&
                   memcmp(wire, bytes, request->bytes) == 0,
               "I1: the log does not begin with %u", call_id(call));
}

/* The shape that the library itself gives to the command's reply. */
static shoal__reply_shape_t shape_of(const call_t *call)
{
    const char *const argv[] = {verb_name(call->verb), "call"};
    const shoal_command_t command = {.argc = 2, .argv = argv};

    if (call->verb == VERB_EXEC)
        return SHOAL__SHAPE_EXEC;
    if (call->unit_first)
        return SHOAL__SHAPE_QUEUED;
    return shoal__refusal_check(&command, SHOAL_CALL_MAY_BLOCK).shape;
}

static void submit_call(world_t *world, call_t *call)
{
    uint32_t id = call_id(call);
    char wire[WIRE_BYTES_MAX];
    size_t bytes = encode(call, wire);
    char *at = shoal__pipe_reserve(&world->pipe, bytes, 1);
    shoal__request_t request = {.on_result = on_result,
                                .data = call,
                                .tag = id,
                                .ticket = call->ticket,
                                .submitted_us = SHOAL__REQUEST_TIME(world->now_us),
                                .deadline_us = call->deadline_us,
                                .extra = extra_of(call, bytes),
                                .bytes = (uint32_t)bytes,
                                .flags = call->flags,
                                .command_class = call->command_class,
                                .shape = shape_of(call) & (SHOAL__SHAPE_LIMIT - 1u)};

    FUZZ_CHECK(at, "no memory");
    memcpy(at, wire, bytes);
    shoal__pipe_push(&world->pipe, &request);
    shoal__stage_times_taken(&world->pipe.times, 1, world->now_us);
}

static call_t *new_call(world_t *world, verb_t verb, uint16_t flags,
                        uint64_t timeout_us)
{
    uint32_t id = world->call_count++;
    call_t *call = &world->calls[id];

    *call = (call_t){.world = world,
                     .verb = verb,
                     .command_class = class_of(verb),
                     .flags = flags,
                     .ticket = id,
                     .deadline_us =
                         timeout_us ? world->now_us + timeout_us : SHOAL__NEVER_US};
    return call;
}

static void submit_unit(world_t *world, uint16_t flags, uint64_t timeout_us,
                        unsigned extras, unsigned parts)
{
    uint32_t first = world->call_count, last = first + parts + 1;

    for (uint32_t id = first; id <= last; id++) {
        verb_t verb = id == first ? VERB_MULTI : id == last ? VERB_EXEC : VERB_INCR;
        call_t *call = new_call(world, verb, flags | SHOAL__REQUEST_UNIT, timeout_us);
        if (id == first)
            call->flags |= SHOAL__REQUEST_UNIT_FIRST;
        if (id == last)
            call->flags |= SHOAL__REQUEST_UNIT_LAST;
        call->unit_first = first;
        call->unit_last = last;
        call->is_lent = (extras & CALL_IS_LENT) != 0;
        submit_call(world, call);
    }
}

void calls_submit(world_t *world, verb_t verb, uint16_t flags, uint64_t timeout_us,
                  unsigned extras, unsigned parts)
{
    if (world->call_count + parts + 2 > CALLS_MAX)
        return;
    if (parts > 0) {
        submit_unit(world, flags, timeout_us, extras, parts);
        return;
    }
    call_t *call = new_call(world, verb, flags, timeout_us);
    call->has_sink = (extras & CALL_HAS_SINK) != 0;
    call->is_lent = (extras & CALL_IS_LENT) != 0;
    submit_call(world, call);
}

/* ---- giving up ---- */

void calls_cancel(world_t *world, uint32_t id)
{
    call_t *call = &world->calls[id];
    bool was_done = call->is_done, is_found;

    /* A cancel of one part of a unit cancels the others, too. */
    call->is_cancel_asked = true;
    for (uint32_t i = call->unit_first; i != 0 && i <= call->unit_last; i++)
        world->calls[i].is_cancel_asked = true;
    is_found = shoal__pipe_cancel(&world->pipe, call->ticket, world->now_us);
    FUZZ_CHECK(!is_found || !was_done, "%u was cancelled behind its result", id);
    FUZZ_CHECK(is_found || was_done || world->callback_depth > 0, "%u is not found",
               id);
    FUZZ_CHECK(!is_found || call->is_done, "%u was cancelled without a result", id);
}

void calls_check_deadlines(const world_t *world)
{
    for (uint32_t id = 1; id < world->call_count; id++)
        FUZZ_CHECK(world->calls[id].is_done ||
                       shoal__time_after(world->calls[id].deadline_us,
                                         SHOAL__DEADLINES_DELAY_US_MAX) > world->now_us,
                   "I5: %u is outstanding behind its deadline", id);
}

uint32_t calls_outstanding(const world_t *world)
{
    uint32_t count = 0;

    for (uint32_t id = 1; id < world->call_count; id++)
        count += !world->calls[id].is_done;
    return count;
}
