/* SPDX-License-Identifier: MIT */
/* What a real server answers is what tools/reply_shapes.txt says: a corpus of commands
 * over a plain socket, with RESP2 and with RESP3, each reply's type against the shape
 * of its command.  (I8: and nothing sound is taken for a violation) */
#include "resp/command_info.h"
#include "resp/command_table.inc"
#include "resp/decoder.h"
#include "resp/encoder.h"
#include "support/live.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define WORDS_MAX 24
#define LINE_MAX 256
#define ANSWER_SECONDS_MAX 60
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const corpus[] = {
#include "integration/reply_shapes_corpus.inc"
};

static const char *const type_names[] = {
    "nil",  "status", "error", "integer", "string", "array",   "double",
    "bool", "map",    "set",   "push",    "bignum", "verbatim"};

/* Commands that have a shape, but give only errors here, and why. */
static const struct excuse {
    const char *name, *reason;
} excuses[] = {
    {"ASKING", "cluster mode only"},
    {"FAILOVER", "needs a replica"},
    {"READONLY", "cluster mode only"},
    {"READWRITE", "cluster mode only"},
    {"SHUTDOWN", "needs a shutdown under way"},
};

/* What was seen of each row of the command table, with both protocols. */
static struct sight {
    unsigned types; /* bit n: a reply of type n came; errors are not counted */
    bool is_unknown;
} sights[COMMAND_COUNT];

/* One connection to the server. */
typedef struct wire {
    int fd;
    shoal__decoder_t *decoder;
    bool is_resp3, is_answered, is_in_unit;
    bool is_old; /* a server before Redis 6, where many forms of commands are errors */
    shoal_reply_type_t type; /* the type of the last answer */
    char text[LINE_MAX];     /* the last error, cut to this room */
    char last[64 * 1024];    /* the last string that came as an answer */
    size_t last_bytes;
    unsigned replies, wrong;
} wire_t;

static shoal__decoder_target_t take_as_tree(void *owner, shoal_reply_type_t type)
{
    (void)owner;
    (void)type;
    return (shoal__decoder_target_t){0};
}

static bool note_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    wire_t *wire = owner;
    size_t bytes = 0;

    if (is_push)
        return true;
    const char *data = shoal_reply_string(reply, &bytes);
    wire->is_answered = true;
    wire->type = shoal_reply_type(reply);
    if (wire->type == SHOAL_REPLY_STRING && bytes <= sizeof wire->last) {
        memcpy(wire->last, data, bytes);
        wire->last_bytes = bytes;
    }
    if (wire->type == SHOAL_REPLY_ERROR)
        snprintf(wire->text, sizeof wire->text, "%.*s", (int)bytes, data);
    return true;
}

static void send_command(const wire_t *wire, const shoal_command_t *command)
{
    size_t bytes = shoal__encoder_bytes(command), sent = 0;
    char *out = malloc(bytes);

    assert_non_null(out);
    shoal__encoder_write(command, out);
    while (sent < bytes) {
        ssize_t count = send(wire->fd, out + sent, bytes - sent, MSG_NOSIGNAL);
        assert_true(count > 0);
        sent += (size_t)count;
    }
    free(out);
}

static void receive_answer(wire_t *wire, const char *line)
{
    static char in[64 * 1024];

    wire->is_answered = false;
    while (!wire->is_answered) {
        ssize_t count = recv(wire->fd, in, sizeof in, 0);
        if (count <= 0)
            fail_msg("%s: no answer", line);
        if (shoal__decoder_feed(wire->decoder, in, (size_t)count) != 0)
            fail_msg("%s: %s", line, shoal__decoder_error(wire->decoder));
    }
}

/* Make a command of the words in `text`, and overwrite `text`.  The word @last stands
 * for the last string that came, @empty for an empty one, and ~ for a blank. */
static shoal_command_t parse(const wire_t *wire, char *text, const char **argv,
                             size_t *argvlen)
{
    size_t argc = 0;

    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < WORDS_MAX);
        bool is_last = strcmp(word, "@last") == 0;
        argv[argc] = is_last ? wire->last : word;
        argvlen[argc] = is_last ? wire->last_bytes : strlen(word);
        if (strcmp(word, "@empty") == 0)
            argvlen[argc] = 0;
        argc++;
        for (char *at = word; (at = strchr(at, '~'));)
            *at = ' ';
    }
    return (shoal_command_t){argc, argv, argvlen};
}

/* What was seen of the command, and its shape.  NULL: the table does not know it. */
static struct sight *find_sight(const shoal_command_t *command,
                                shoal__reply_shape_t *ret_shape)
{
    shoal__bytes_t name = {command->argv[0], command->argvlen[0]};

    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (shoal__bytes_is_word(name, command_rows[i].name)) {
            *ret_shape = command_rows[i].shape;
            return &sights[i];
        }
    return NULL;
}

static bool is_unknown_command(const char *text)
{
    return strncasecmp(text, "ERR unknown command", 19) == 0 ||
           strncasecmp(text, "ERR unknown subcommand", 22) == 0;
}

static void complain(wire_t *wire, const char *line, const char *why)
{
    print_error("RESP%d, %s: %s%s%s\n", wire->is_resp3 ? 3 : 2, line, why,
                wire->type == SHOAL_REPLY_ERROR ? ": " : "",
                wire->type == SHOAL_REPLY_ERROR ? wire->text : "");
    wire->wrong++;
}

/* Note whether the connection is in a unit, where the next command gets QUEUED. */
static void follow_unit(wire_t *wire, const char *line)
{
    if (strcmp(line, "MULTI") == 0)
        wire->is_in_unit = wire->type == SHOAL_REPLY_STATUS;
    if (strcmp(line, "EXEC") == 0 || strcmp(line, "DISCARD") == 0)
        wire->is_in_unit = false;
}

static void judge(wire_t *wire, const char *line, bool may_fail,
                  const shoal_command_t *command)
{
    shoal__reply_shape_t shape = SHOAL__SHAPE_ANY;
    struct sight *sight = find_sight(command, &shape);
    bool is_end = strcmp(line, "EXEC") == 0 || strcmp(line, "DISCARD") == 0;

    if (wire->is_in_unit && !is_end)
        shape = SHOAL__SHAPE_QUEUED;
    wire->replies++;
    if (!sight) {
        complain(wire, line, "not in the table");
    } else if (wire->type == SHOAL_REPLY_ERROR) {
        if (is_unknown_command(wire->text))
            sight->is_unknown = sight->types == 0;
        else if (!may_fail && !wire->is_old)
            complain(wire, line, "an error");
    } else if (!shoal__reply_shape_allows(shape, wire->type)) {
        complain(wire, line, type_names[wire->type]);
    } else if (!wire->is_in_unit || is_end) {
        sight->types |= 1u << wire->type;
    }
    follow_unit(wire, line);
}

static void ask(wire_t *wire, const char *line)
{
    const char *argv[WORDS_MAX];
    size_t argvlen[WORDS_MAX];
    char text[LINE_MAX];
    bool may_fail = line[0] == '?';

    if (may_fail)
        line += 2;
    assert_true(strlen(line) < sizeof text);
    strcpy(text, line);
    shoal_command_t command = parse(wire, text, argv, argvlen);
    send_command(wire, &command);
    receive_answer(wire, line);
    judge(wire, line, may_fail, &command);
}

static wire_t *open_wire(void)
{
    static const shoal__decoder_hooks_t hooks = {take_as_tree, note_reply};
    static const shoal__decoder_limits_t limits = {
        .bytes_max = 64 << 20, .elements_max = 1 << 20, .depth_max = 64};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)live_port()),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = ANSWER_SECONDS_MAX};
    wire_t *wire = calloc(1, sizeof *wire);

    assert_non_null(wire);
    assert_int_equal(shoal__decoder_new(&wire->decoder, &limits, &hooks, wire), 0);
    wire->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(wire->fd >= 0);
    assert_int_equal(
        setsockopt(wire->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(wire->fd, (struct sockaddr *)&address, sizeof address), 0);
    return wire;
}

static void close_wire(wire_t *wire)
{
    close(wire->fd);
    shoal__decoder_free(wire->decoder);
    free(wire);
}

static void run_corpus(wire_t *wire)
{
    for (size_t i = 0; i < COUNT(corpus); i++)
        ask(wire, corpus[i]);
    print_message("RESP%d: %u replies\n", wire->is_resp3 ? 3 : 2, wire->replies);
    assert_int_equal(wire->wrong, 0);
}

static void test_replies_in_resp2(void **state)
{
    (void)state;
    wire_t *wire = open_wire();

    ask(wire, "? HELLO 2");
    wire->is_old = is_unknown_command(wire->text);
    run_corpus(wire);
    close_wire(wire);
}

static void test_replies_in_resp3(void **state)
{
    (void)state;
    wire_t *wire = open_wire();

    ask(wire, "? HELLO 3");
    wire->is_resp3 = wire->type == SHOAL_REPLY_MAP;
    if (wire->is_resp3)
        run_corpus(wire);
    else
        print_message("the server has no RESP3\n");
    close_wire(wire);
}

static const char *find_excuse(const char *name)
{
    for (size_t i = 0; i < COUNT(excuses); i++)
        if (strcmp(excuses[i].name, name) == 0)
            return excuses[i].reason;
    return NULL;
}

static void test_the_corpus_asks_every_command(void **state)
{
    (void)state;
    unsigned missing = 0;

    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const char *name = command_rows[i].name;
        const char *reason = sights[i].is_unknown ? "unknown" : find_excuse(name);

        if (command_rows[i].shape == SHOAL__SHAPE_ANY || sights[i].types != 0)
            continue;
        if (reason) {
            print_message("not seen: %s (%s)\n", name, reason);
        } else {
            print_error("%s has a shape, but no reply here shows it\n", name);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* Print the types that the table allows and no reply had.  They may be superfluous, but
 * another server may still send them. */
static int tell_what_was_never_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        unsigned mask = shoal__reply_shape_masks[command_rows[i].shape];
        unsigned never = mask & ~(1u << SHOAL_REPLY_ERROR) & ~sights[i].types;

        if (command_rows[i].shape == SHOAL__SHAPE_ANY || sights[i].types == 0)
            continue;
        for (unsigned type = 0; type < COUNT(type_names); type++)
            if (never >> type & 1)
                print_message("never a %s: %s\n", type_names[type],
                              command_rows[i].name);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies_in_resp2),
        cmocka_unit_test(test_replies_in_resp3),
        cmocka_unit_test(test_the_corpus_asks_every_command),
    };
    return cmocka_run_group_tests_name("integration/reply_shapes", tests, NULL,
                                       tell_what_was_never_seen);
}
