/* SPDX-License-Identifier: MIT */
/* F3: the connection ends after every single byte of an exchange: of the answers, of what
 * the client could write, and of what the server took; by the end of the stream and by
 * a reset; for every class of commands.  Each outcome must be that of the table "outcome
 * of every command", and the server's ledger must agree.  (I2 I3 I4) */
#include "fault_proxy/fake_bytes.h"
#include "matrix/child.h"
#include "matrix/matrix.h"
#include "matrix/transport.h"

#include <errno.h>
#include <shoal/integrity.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define DEVIATIONS_SHOWN 10
#define WORDS_MAX 4
#define LANES 40 /* processes: a new connection waits, so many can share a machine */
#define LIST_BYTES 4    /* "*1\r\n" */
#define RECORD_BYTES 22 /* that TLS 1.3 adds to what is written at once */
#define REFILL_READS 12 /* successes that earn the right to one more try */

/* Which bytes are cut. */
typedef enum way {
    ANSWERED, /* of the answer */
    WRITTEN,  /* of the command, as the client's socket takes them */
    TAKEN,    /* of the command, as the server reads them; the client wrote it all */
    RECEIVED, /* of the answer, as the client reads them: encrypted, and so with TLS only */
    WAYS
} way_t;

static const char *const way_names[] = {"answered", "written", "taken", "received"};

typedef struct kind {
    const char *name;
    uint32_t flags;
    bool is_repeatable, is_repeatable_unit;
    const char *words[WORDS_MAX]; /* the second is made different each time */
    const char *reply;
    const char *unit_reply; /* NULL: it is not allowed in a unit */
} kind_t;

/* clang-format off */
static const kind_t kinds[] = {
    {"RO",         0,                     true,  false, {"GET", "key"},
     "$5\r\nhello\r\n", "*1\r\n_\r\n"},
    {"IDEMPOTENT", SHOAL_CALL_IDEMPOTENT, true,  true,  {"SET", "key", "v"},
     "+OK\r\n", "*1\r\n+OK\r\n"},
    {"WRITE",      0,                     false, false, {"INCR", "key"},
     ":1\r\n", "*1\r\n:1\r\n"},
    {"SCRIPT",     0,                     false, false, {"EVAL", "return 1", "0"},
     "*2\r\n:1\r\n:2\r\n", "*1\r\n-ERR unknown command\r\n"},
    {"ONCE",       SHOAL_CALL_ONCE,       false, false, {"GET", "key"},
     "$5\r\nhello\r\n", "*1\r\n_\r\n"},
    {"BLOCK",      SHOAL_CALL_MAY_BLOCK,  false, false, {"BLPOP", "key", "0"},
     "*2\r\n$3\r\nkey\r\n$1\r\na\r\n", NULL},
};
/* clang-format on */

/* One cut. */
typedef struct cut {
    const kind_t *kind;
    way_t way;
    fake_cut_t how;
    unsigned member;   /* of a unit, for ANSWERED: MULTI, the command, EXEC */
    size_t offset, of; /* bytes that pass, of all */
} cut_t;

typedef struct verdict {
    bool is_replied;
    shoal_fate_t fate; /* if it is not replied */
    size_t executed;   /* times */
} verdict_t;

/* Shared by the lanes. */
typedef struct score {
    const matrix_mode_t *mode;
    _Atomic unsigned cuts, deviations;
} score_t;

/* One lane plays every LANES-th cut. */
typedef struct play {
    score_t *score;
    unsigned lane;
    matrix_t *m;
    fake_server_t *server;
    unsigned cuts;  /* in all lanes so far */
    unsigned tries; /* in this one */
    uint64_t asked; /* questions for the cluster, before something was answered */
    char argument[40];
} play_t;

/* The one gate in the transport: let `left` more bytes pass, then none. */
static struct {
    _Atomic int port; /* of the server */
    _Atomic bool is_client_side, is_sending, is_armed;
    fake_cut_t how; /* when the client reads: what it finds behind them */
    _Atomic size_t left;
    _Atomic bool is_shut; /* another thread waits before it */
} gate;

/* How many of these bytes pass; 0: none, and it is shut. */
static size_t pass(int fd, size_t bytes, bool is_sending)
{
    if (!gate.is_armed || is_sending != gate.is_sending ||
        matrix_transport_is_server(fd, gate.port) == gate.is_client_side)
        return bytes;
    if (gate.left == 0)
        gate.is_shut = true;
    return bytes < gate.left ? bytes : gate.left;
}

static ssize_t gated_send(int fd, const void *data, size_t bytes, int flags)
{
    size_t passing = pass(fd, bytes, true);

    if (passing == 0 && bytes > 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t sent = matrix_system_send(fd, data, passing, flags);
    if (sent > 0 && gate.is_armed && gate.is_sending && gate.is_client_side &&
        !matrix_transport_is_server(fd, gate.port))
        gate.left -= (size_t)sent;
    return sent;
}

static ssize_t gated_recv(int fd, void *data, size_t bytes, int flags)
{
    size_t passing = pass(fd, bytes, false);

    if (passing == 0 && bytes > 0 && gate.is_client_side) {
        /* A client that was late looks for more behind the last answer: that is no
         * reading of this one. */
        if (matrix_system_recv(fd, data, 1, flags | MSG_PEEK) < 0)
            return -1;
        gate.is_armed = false; /* the next connection has none */
        errno = ECONNRESET;
        return gate.how == FAKE_CUT_FIN ? 0 : -1;
    }
    if (passing == 0 && bytes > 0) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t got = matrix_system_recv(fd, data, passing, flags);
    if (got > 0 && gate.is_armed && !gate.is_sending &&
        matrix_transport_is_server(fd, gate.port) != gate.is_client_side)
        gate.left -= (size_t)got;
    return got;
}

static void open_gate(void *data)
{
    (void)data;
    gate.is_armed = false;
    matrix_transport_hook(NULL, NULL);
}

static void arm_gate(const play_t *play, const cut_t *cut)
{
    gate.port = fake_server_port(play->server);
    gate.is_client_side = cut->way == WRITTEN || cut->way == RECEIVED;
    gate.is_sending = cut->way == WRITTEN;
    gate.how = cut->how;
    gate.left = cut->offset;
    gate.is_shut = false;
    gate.is_armed = true;
    matrix_transport_hook(gated_send, gated_recv);
}

/* The table.  With TLS the bytes that are written and taken are those of a record; the
 * answer is cut before it is encrypted, and behind: a record that is not whole says
 * nothing. */
static verdict_t verdict_of(const cut_t *cut, const matrix_mode_t *mode)
{
    bool is_unit = mode->is_unit;
    bool is_once = cut->kind->flags & SHOAL_CALL_ONCE;
    bool is_last = !is_unit || cut->member == 2;
    bool is_repeatable =
        is_unit ? cut->kind->is_repeatable_unit : cut->kind->is_repeatable;

    switch (cut->way) {
    case ANSWERED:
        /* What was answered in part of a unit cannot be taken back.  In a cluster nothing of
         * it was before the list of EXEC begins. */
        if (is_unit && (mode->is_cluster ? is_last && cut->offset >= LIST_BYTES
                                         : cut->member > 0 || cut->offset == cut->of))
            is_repeatable = false;
        if (is_last && cut->offset == cut->of)
            return (verdict_t){true, SHOAL_FATE_REPLIED, 1};
        if (is_repeatable)
            return (verdict_t){true, SHOAL_FATE_REPLIED, is_last ? 2 : 1};
        return (verdict_t){false,
                           is_last && cut->offset > 0 ? SHOAL_FATE_REPLY_LOST
                                                      : SHOAL_FATE_UNKNOWN,
                           is_last};
    case WRITTEN:
        /* What is encrypted cannot be withdrawn any more. */
        if (is_once && (cut->offset > 0 || mode->is_tls))
            return (verdict_t){false, SHOAL_FATE_NOT_EXECUTED, 0};
        return (verdict_t){true, SHOAL_FATE_REPLIED, 1};
    case TAKEN:
    case RECEIVED:
    case WAYS:
        break;
    }
    return (verdict_t){is_repeatable,
                       is_repeatable ? SHOAL_FATE_REPLIED : SHOAL_FATE_UNKNOWN,
                       (size_t)is_repeatable + (cut->way == RECEIVED)};
}

/* Rules of this connection; and behind them how the other ones answer. */
static void set_rules(play_t *play, const cut_t *cut)
{
    unsigned connection = fake_server_accepted(play->server);
    bool is_unit = play->m->mode->is_unit;
    const char *members[] = {"MULTI", cut->kind->words[0], "EXEC"};
    fake_rule_t rule = {.command = cut->kind->words[0],
                        .connection = connection,
                        .reply = is_unit ? NULL : cut->kind->reply,
                        .is_executed = !is_unit,
                        .is_cut = true,
                        .cut_bytes = cut->offset,
                        .then = cut->how == FAKE_CUT_FIN ? FAKE_FIN : FAKE_RESET};

    fake_server_forget_rules(play->server);
    if (cut->way == ANSWERED) {
        if (is_unit)
            rule.command = members[cut->member];
        fake_server_rule(play->server, &rule);
    } else if (is_unit && cut->way != RECEIVED) {
        /* The MULTI arrives whole before the others: its answer has to wait. */
        fake_server_rule(play->server, &(fake_rule_t){.command = "MULTI",
                                                      .connection = connection,
                                                      .is_cut = true,
                                                      .then = FAKE_HOLD});
    }
    if (!is_unit)
        fake_server_rule(play->server, &(fake_rule_t){.command = cut->kind->words[0],
                                                      .argument = play->argument,
                                                      .reply = cut->kind->reply,
                                                      .is_executed = true});
}

static void report(play_t *play, const cut_t *cut, const verdict_t *verdict,
                   const matrix_command_t *command, size_t executed)
{
    if (play->score->deviations++ < DEVIATIONS_SHOWN)
        print_error("F3: %s, %s %zu of %zu bytes of member %u, %s: want %s, executed "
                    "%zu; executed %zu: %s\n",
                    cut->kind->name, way_names[cut->way], cut->offset, cut->of,
                    cut->member, cut->how == FAKE_CUT_FIN ? "FIN" : "RST",
                    verdict->is_replied ? "a reply" : shoal_fate_name(verdict->fate),
                    verdict->executed, executed, matrix_describe(command));
}

static shoal_command_t subject(play_t *play, const kind_t *kind,
                               const char *words[WORDS_MAX])
{
    shoal_command_t command = {0, words, NULL};

    /* Always of the same length; and so is the command. */
    snprintf(play->argument, sizeof play->argument, "%06u", play->tries);
    for (; command.argc < WORDS_MAX && kind->words[command.argc]; command.argc++)
        words[command.argc] = kind->words[command.argc];
    words[1] = play->argument;
    return command;
}

/* False: perhaps a question for the cluster was cut, and not the command. */
static bool play_mine(play_t *play, const cut_t *cut)
{
    matrix_t *m = play->m;
    const char *words[WORDS_MAX];
    unsigned ready = m->events.ready, lost = m->events.lost;
    matrix_spec_t spec = {.kind = MATRIX_OTHER, .flags = cut->kind->flags};
    verdict_t verdict = verdict_of(cut, m->mode);

    play->tries++;
    spec.command = subject(play, cut->kind, words);
    set_rules(play, cut);
    bool is_mine = true;
    if (cut->way != ANSWERED)
        arm_gate(play, cut);
    matrix_command_t *command = matrix_submit(m, &spec);
    if (cut->way != ANSWERED) {
        MATRIX_WAIT_FOR(m, gate.is_shut);
        is_mine = matrix_stats(m).views_asked == play->asked;
        if (cut->way != RECEIVED)
            fake_server_cut(play->server, cut->how);
        MATRIX_WAIT_FOR(m, m->events.lost > lost);
        open_gate(NULL);
    }
    matrix_await(m, command);
    MATRIX_WAIT_FOR(m, m->events.ready > ready);
    size_t executed =
        fake_server_executed(play->server, 0, cut->kind->words[0], play->argument);
    bool is_so = verdict.is_replied
                     ? command->status == 0 && command->has_reply
                     : command->status == SHOAL_ECONN && command->fate == verdict.fate;
    play->score->cuts += is_mine;
    if (is_mine && (command->rc != 0 || !is_so || executed != verdict.executed))
        report(play, cut, &verdict, command, executed);
    play->asked = matrix_stats(m).views_asked;
    for (int i = 0; i < REFILL_READS; i++)
        (void)matrix_submit(m, NULL);
    matrix_wait(m);
    return is_mine;
}

/* Each cut over TLS takes a handshake.  The columns that only submit or read in another way
 * take every third one. */
static bool is_skipped(const matrix_mode_t *mode, size_t offset)
{
    return mode->is_tls && mode->column != MATRIX_RESP3_CALLBACK && !mode->is_unit &&
           offset % 3 != 0;
}

static void play_cut(play_t *play, const cut_t *cut)
{
    if (is_skipped(play->m->mode, cut->offset))
        return;
    if (play->cuts++ % LANES == play->lane)
        while (!play_mine(play, cut))
            continue;
}

/* Bytes of the command on the wire. */
static size_t command_bytes(play_t *play, const kind_t *kind)
{
    static const char unit[] = "*1\r\n$5\r\nMULTI\r\n*1\r\n$4\r\nEXEC\r\n";
    const char *words[WORDS_MAX];
    shoal_command_t command = subject(play, kind, words);
    size_t bytes = 4; /* "*2\r\n" */

    for (size_t i = 0; i < command.argc; i++) /* "$5\r\nhello\r\n" */
        bytes += (strlen(words[i]) > 9 ? 5 : 4) + strlen(words[i]) + 2;
    bytes += play->m->mode->is_unit ? sizeof unit - 1 : 0;
    return bytes + (play->m->mode->is_tls ? RECORD_BYTES : 0);
}

static void play_answers(play_t *play, const kind_t *kind, fake_cut_t how)
{
    const char *unit[] = {"+OK\r\n", "+QUEUED\r\n", kind->unit_reply};
    bool is_unit = play->m->mode->is_unit;

    for (unsigned member = 0; member < (is_unit ? 3 : 1); member++) {
        size_t bytes = strlen(is_unit ? unit[member] : kind->reply);
        for (size_t offset = 0; offset <= bytes; offset++)
            play_cut(play, &(cut_t){kind, ANSWERED, how, member, offset, bytes});
    }
}

static void play_kind(play_t *play, const kind_t *kind, fake_cut_t how)
{
    size_t bytes = command_bytes(play, kind);
    bool is_encrypted_alone = play->m->mode->is_tls && !play->m->mode->is_unit;

    play_answers(play, kind, how);
    for (size_t offset = 0; offset < bytes; offset++) {
        play_cut(play, &(cut_t){kind, WRITTEN, how, 0, offset, bytes});
        play_cut(play, &(cut_t){kind, TAKEN, how, 0, offset, bytes});
    }
    /* The members of a unit are answered in records of which the test knows no number. */
    bytes = strlen(kind->reply) + RECORD_BYTES;
    for (size_t offset = 0; offset < bytes && is_encrypted_alone; offset++)
        play_cut(play, &(cut_t){kind, RECEIVED, how, 0, offset, bytes});
    matrix_forget(play->m);
}

static void play_lane(void *data)
{
    play_t *play = data;
    const matrix_mode_t *mode = play->score->mode;

    play->m = matrix_begin(mode);
    play->server = matrix_fake(play->m, NULL);
    matrix_to_fake(play->m, play->server);
    /* No fences: every byte on the wire is the command's. */
    assert_int_equal(
        shoal_options_set_integrity(play->m->options, SHOAL_INTEGRITY_SHAPES), 0);
    matrix_defer(play->m, open_gate, NULL);
    matrix_open_ready(play->m);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (mode->is_unit && !kinds[i].unit_reply)
            continue;
        play_kind(play, &kinds[i], FAKE_CUT_FIN);
        play_kind(play, &kinds[i], FAKE_CUT_RESET);
    }
    fake_server_forget_rules(play->server);
    matrix_expect_works(play->m);
    matrix_check_fake(play->m, play->server);
    matrix_end(play->m);
}

static void f3(const matrix_mode_t *mode)
{
    score_t *score = mmap(NULL, sizeof *score, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[LANES];

    assert_true(score != MAP_FAILED);
    score->mode = mode;
    for (unsigned lane = 0; lane < LANES; lane++)
        children[lane] =
            matrix_child_start(play_lane, &(play_t){.score = score, .lane = lane});
    for (unsigned lane = 0; lane < LANES; lane++)
        matrix_child_end(children[lane]);
    unsigned cuts = score->cuts, deviations = score->deviations;
    munmap(score, sizeof *score);
    print_message("F3 %s: %u cuts, %u deviations\n", mode->name, cuts, deviations);
    assert_true(cuts > 400);
    assert_int_equal(deviations, 0);
}

MATRIX_ROW(3){
    MATRIX_CELLS_EVERYWHERE(f3),
    MATRIX_ROW_END,
};
