/* SPDX-License-Identifier: MIT */
#include "pipe_world.h"

#include <shoal/errors.h>

/* ---- connections ---- */

void server_begin(world_t *world)
{
    world->link = ++world->links;
    world->received.size = world->answers.size = world->heard.size = 0;
    world->greeting_bytes = 0;
    world->unit_next = world->unit_first = 0;
    world->is_unit_refused = false;
    world->has_said_hello = false;
    world->is_lying = false;
}

void server_release(world_t *world)
{
    fake_bytes_release(&world->received);
    fake_bytes_release(&world->answers);
    fake_bytes_release(&world->heard);
    fake_request_release(&world->request);
}

static bool may_prove(const fake_bytes_t *heard)
{
    static const char *const codes[] = {"LOADING",    "TRYAGAIN", "CLUSTERDOWN",
                                        "MASTERDOWN", "READONLY", "NOAUTH"};

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (heard->size > 0 &&
            memmem(heard->data, heard->size, codes[i], strlen(codes[i])))
            return true;
    return false;
}

/* Bytes that are no answers may look like an error that proves that a command was not
 * executed, and any command may get it.  Then I3 and I4 cannot be checked for those
 * that are outstanding. */
void server_tell(world_t *world, const char *data, size_t bytes)
{
    fake_bytes_add(&world->heard, data, bytes);
    if (!world->is_lying || !may_prove(&world->heard))
        return;
    for (uint32_t id = 1; id < world->call_count; id++)
        world->calls[id].is_excused |=
            !world->calls[id].is_done &&
            world->calls[id].command_class != SHOAL__CLASS_SCRIPT;
}

/* ---- answers ---- */

static void answer_call(world_t *world, const char *sign, const call_t *call)
{
    char line[64];

    snprintf(line, sizeof line, "%scall:%04u\r\n", sign, (unsigned)call_id(call));
    fake_bytes_text(&world->answers, line);
}

static void answer_value(world_t *world, const call_t *call)
{
    fake_bytes_t *answers = &world->answers;

    switch (call->verb) {
    case VERB_ECHO:
        answer_call(world, "$9\r\n", call);
        break;
    case VERB_LRANGE:
    case VERB_BLPOP:
        fake_bytes_text(answers, "*2\r\n");
        answer_call(world, "$9\r\n", call);
        answer_call(world, "$9\r\n", call);
        break;
    case VERB_EVAL:
        answer_call(world, "+", call);
        break;
    case VERB_INCR:
        fake_bytes_number(answers, ':', call_id(call));
        break;
    case VERB_MULTI:
    case VERB_EXEC:
    case VERB_COUNT:
        break;
    }
}

static void execute(world_t *world, call_t *call)
{
    static const char *const errors[] = {[MOOD_LOADING] = "-LOADING ",
                                         [MOOD_READONLY] = "-READONLY ",
                                         [MOOD_NOAUTH] = "-NOAUTH ",
                                         [MOOD_ERR] = "-ERR "};

    if (world->mood == MOOD_KIND) {
        answer_value(world, call);
        return;
    }
    /* An error of a script is no proof: the script may have written before it
     * failed. */
    call->rejected +=
        world->mood != MOOD_ERR && call->command_class != SHOAL__CLASS_SCRIPT;
    answer_call(world, errors[world->mood], call);
}

/* Note which command must come next: MULTI, its commands and EXEC come one after the
 * other, with nothing between them.  (I15) */
static void execute_in_unit(world_t *world, call_t *call)
{
    uint32_t id = call_id(call);

    if (call->verb == VERB_MULTI) {
        world->unit_first = id;
        world->unit_next = id + 1;
        world->is_unit_refused = world->mood != MOOD_KIND;
        fake_bytes_text(&world->answers, "+OK\r\n");
    } else if (call->verb != VERB_EXEC) {
        world->unit_next = id + 1;
        fake_bytes_text(&world->answers, "+QUEUED\r\n");
    } else {
        if (world->is_unit_refused) {
            answer_call(world, "-EXECABORT ", call);
        } else {
            fake_bytes_number(&world->answers, '*', id - world->unit_first - 1);
            for (uint32_t part = world->unit_first + 1; part < id; part++)
                fake_bytes_number(&world->answers, ':', part);
        }
        world->unit_first = world->unit_next = 0;
    }
}

/* ---- commands ---- */

static bool may_follow(const world_t *world, const call_t *call)
{
    bool is_given_up =
        call->status == SHOAL_ETIMEOUT || call->status == SHOAL_ECANCELLED;

    /* A command that was given up when a part of it was written is written to its end:
     * otherwise the next command would be read as its rest. */
    return is_given_up && call->fate == SHOAL_FATE_UNKNOWN &&
           call->done_link == world->link;
}

static void receive_call(world_t *world, call_t *call)
{
    uint32_t id = call_id(call);
    bool is_deciding = call->unit_first == 0 || call->verb == VERB_EXEC;

    call->handed++;
    FUZZ_CHECK(world->is_lying || world->heard.size >= world->greeting_bytes,
               "I12: %u was written before the greeting ended", id);
    FUZZ_CHECK(world->unit_next == 0 || world->unit_next == id,
               "I15: %u was written into a unit", id);
    FUZZ_CHECK(world->unit_next == id || call->unit_first == 0 ||
                   call->verb == VERB_MULTI,
               "I15: %u was written without its unit", id);
    FUZZ_CHECK(!call->is_done || may_follow(world, call),
               "%u was written behind its result %d", id, call->status);
    FUZZ_CHECK(!(call->flags & SHOAL__REQUEST_ONCE) || call->handed == 1,
               "I3: %u was written again", id);
    if (is_deciding) {
        FUZZ_CHECK(call->is_excused ||
                       call->handed <= world->config.attempts_max + call->held,
                   "I13: %u: %u attempts", id, call->handed);
        FUZZ_CHECK(call_is_repeatable(call) || call->is_excused ||
                       call->handed <= 1 + call->rejected,
                   "I3: %u was written again, and may have been executed", id);
    }
    if (call->unit_first)
        execute_in_unit(world, call);
    else
        execute(world, call);
}

static void answer_hello(world_t *world)
{
    if (!world->knows_hello) {
        fake_bytes_text(&world->answers, "-ERR unknown command 'HELLO'\r\n");
        return;
    }
    world->has_said_hello = true;
    fake_bytes_text(&world->answers, "%3\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:7\r\n"
                                     "$7\r\nversion\r\n$5\r\n7.4.0\r\n");
}

static void answer_client(world_t *world)
{
    char identity[64];

    if (fake_request_is(&world->request, 1, "KILL")) {
        fake_bytes_text(&world->answers, ":0\r\n");
    } else if (fake_request_is(&world->request, 1, "INFO")) {
        int bytes =
            snprintf(identity, sizeof identity, "id=%u addr=127.0.0.1:%u name=\n",
                     (unsigned)world->link, 1000 + (unsigned)world->link);
        fake_bytes_bulk(&world->answers, identity, (size_t)bytes);
    } else {
        fake_bytes_text(&world->answers, "+OK\r\n");
    }
}

/* Answer a command of the pipe's own, in the greeting or later. */
static void receive_own(world_t *world)
{
    static const char server[] = "# Server\r\nrun_id:0123456789abcdef\r\n";
    const fake_request_t *request = &world->request;
    fake_bytes_t *answers = &world->answers;

    FUZZ_CHECK(world->unit_next == 0, "I15: %.*s was written into a unit",
               (int)request->argv[0].size, request->argv[0].data);
    if (fake_request_is(request, 0, "PING")) {
        fake_bytes_text(answers, "+PONG\r\n");
        return;
    }
    if (fake_request_is(request, 0, "ECHO") && request->argc == 2) {
        fake_bytes_bulk(answers, request->argv[1].data, request->argv[1].size);
        return;
    }
    if (fake_request_is(request, 0, "HELLO")) {
        answer_hello(world);
    } else if (fake_request_is(request, 0, "CLIENT")) {
        answer_client(world);
    } else if (fake_request_is(request, 0, "INFO")) {
        fake_bytes_bulk(answers, server, sizeof server - 1);
    } else {
        FUZZ_CHECK(fake_request_is(request, 0, "AUTH") ||
                       fake_request_is(request, 0, "SELECT"),
                   "an unknown command");
        fake_bytes_text(answers, "+OK\r\n");
    }
    world->greeting_bytes = world->heard.size + answers->size;
}

/* The call to which the command belongs; NULL: it is the pipe's own. */
static call_t *find_call(world_t *world)
{
    const fake_request_t *request = &world->request;
    char text[CALL_ID_BYTES + 1] = "";

    if (request->argc != 2 || request->argv[1].size != CALL_ID_BYTES ||
        memcmp(request->argv[1].data, "call:", 5) != 0)
        return NULL;
    memcpy(text, request->argv[1].data, CALL_ID_BYTES);
    uint32_t id = (uint32_t)strtoul(text + 5, NULL, 10);
    FUZZ_CHECK(id > 0 && id < world->call_count &&
                   fake_request_is(request, 0, verb_name(world->calls[id].verb)),
               "a command that nobody submitted");
    return &world->calls[id];
}

void server_receive(world_t *world, const char *data, size_t bytes)
{
    size_t used, at = 0;

    fake_bytes_add(&world->received, data, bytes);
    while (at < world->received.size) {
        FUZZ_CHECK(fake_request_parse(&world->request, world->received.data + at,
                                      world->received.size - at, &used),
                   "what was written is no command");
        if (used == 0)
            break;
        call_t *call = find_call(world);
        if (call)
            receive_call(world, call);
        else
            receive_own(world);
        at += used;
    }
    fake_bytes_consume(&world->received, at);
}

void server_push(world_t *world, uint8_t kind)
{
    static const char *const pushes[] = {
        ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n",
        ">2\r\n$10\r\ninvalidate\r\n_\r\n",
        ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$9\r\ncall:0001\r\n",
        ">1\r\n+x\r\n",
        ">0\r\n",
    };

    if (world->has_said_hello)
        fake_bytes_text(&world->answers,
                        pushes[kind % (sizeof pushes / sizeof *pushes)]);
}
