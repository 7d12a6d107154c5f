/* SPDX-License-Identifier: MIT */
#include "matrix/rig_parts.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LEDGER_CHUNK 1000
#define LATER_US 5000000u

const char *matrix_describe(const matrix_command_t *c)
{
    static _Thread_local char text[400];
    static const char *const kinds[] = {"read", "write", "other"};

    snprintf(text, sizeof text,
             "%s %" PRIu64 " (flags %x) in %s: %s, rc %s, status %s, fate %s, attempts "
             "%u, %s%s%s integer %" PRId64 ", executed %u, '%s'",
             kinds[c->spec.kind], c->seq, c->spec.flags, c->rig->mode->name,
             c->is_done ? "done" : "not done", shoal_error_name(c->rc),
             shoal_error_name(c->status), shoal_fate_name(c->fate), c->attempts,
             c->has_reply ? "reply," : "", c->is_error ? " error " : "", c->error,
             c->integer, c->executed, c->detail);
    return text;
}

static void clear_ledger(matrix_t *m)
{
    for (uint64_t seq = m->parts->base; seq < m->parts->count; seq++) {
        matrix_at(m, seq)->executed = 0;
        matrix_at(m, seq)->place = 0;
    }
}

/* The server executed a write of this text. */
static void enter(matrix_t *m, size_t place, const char *text)
{
    uint64_t seq = 0;
    unsigned client = 0, column = 0;
    char tag[TAG_ROOM];

    if (sscanf(text, "%u|%u|%" SCNu64 "|", &client, &column, &seq) != 3 ||
        seq >= m->parts->count)
        fail_msg("O2: the ledger has something that was never submitted: %s", text);
    if (seq < m->parts->base)
        return; /* checked, and forgotten */
    matrix_command_t *command = matrix_at(m, seq);
    matrix_tag(command, tag);
    if (strcmp(tag, text) != 0 || command->spec.kind != MATRIX_WRITE)
        fail_msg("O2: the ledger has '%s', not '%s'", text, tag);
    command->executed++;
    command->place = place;
}

/* O2 and O4 of one write. */
static void check_write(const matrix_t *m, const matrix_command_t *c)
{
    bool is_repeatable = c->spec.flags & SHOAL_CALL_IDEMPOTENT;
    unsigned most = is_repeatable && c->attempts > 1 ? c->attempts : 1;
    bool is_value = c->has_reply && !c->is_error && !m->may_be_wrong;
    bool is_error = c->has_reply && c->is_error && !m->may_be_wrong;

    if ((c->rc != 0 || c->fate == SHOAL_FATE_NOT_EXECUTED) && c->executed != 0)
        fail_msg("O4: not executed, they said: %s", matrix_describe(c));
    if (c->executed > most)
        fail_msg("O2: executed too often: %s", matrix_describe(c));
    if (is_value && c->executed == 0)
        fail_msg("O2: answered and not executed: %s", matrix_describe(c));
    if (is_value && c->executed == 1 && c->integer != (int64_t)c->place)
        fail_msg("O1: answered with another place than %zu: %s", c->place,
                 matrix_describe(c));
    if (is_error && c->attempts <= 1 && c->executed != 0)
        fail_msg("O2: refused and executed: %s", matrix_describe(c));
}

static void check_writes(matrix_t *m)
{
    for (uint64_t seq = m->parts->base; seq < m->parts->count; seq++)
        if (matrix_at(m, seq)->spec.kind == MATRIX_WRITE)
            check_write(m, matrix_at(m, seq));
}

void matrix_check_fake(matrix_t *m, fake_server_t *server)
{
    size_t place = 0, size = fake_server_ledger_size(server);

    matrix_wait(m);
    clear_ledger(m);
    for (size_t i = 0; i < size; i++) {
        fake_entry_t entry = fake_server_ledger_at(server, i);
        if (entry.is_executed && strcmp(entry.args[0], "RPUSH") == 0 &&
            strcmp(entry.args[1], MATRIX_LEDGER_KEY) == 0)
            enter(m, ++place, entry.args[2]);
    }
    check_writes(m);
}

static FILE *connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {20, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fail_msg("O2: the server's ledger cannot be read");
    }
    return fdopen(fd, "r+");
}

/* Read one chunk of the ledger; returns how many entries it had. */
static size_t read_chunk(matrix_t *m, FILE *server, size_t from)
{
    char line[256];
    size_t count = 0;

    dprintf(fileno(server), "LRANGE " MATRIX_LEDGER_KEY " %zu %zu\r\n", from,
            from + LEDGER_CHUNK - 1);
    if (!fgets(line, sizeof line, server) || sscanf(line, "*%zu", &count) != 1)
        fail_msg("O2: the server's ledger cannot be read");
    for (size_t i = 0; i < count; i++) {
        if (!fgets(line, sizeof line, server) || !fgets(line, sizeof line, server))
            fail_msg("O2: the server's ledger ends early");
        line[strcspn(line, "\r\n")] = '\0';
        enter(m, from + i + 1, line);
    }
    return count;
}

static void check_redis_now(matrix_t *m, int port)
{
    FILE *server = connect_to(port);
    size_t from = 0, count;

    clear_ledger(m);
    while ((count = read_chunk(m, server, from)) > 0)
        from += count;
    fclose(server);
    check_writes(m);
}

void matrix_check_redis(matrix_t *m, int port)
{
    matrix_wait(m);
    check_redis_now(m, port);
    if (matrix_scale() > 1.0) {
        matrix_pause(m, LATER_US);
        check_redis_now(m, port);
    }
}

void matrix_expect(matrix_t *m, const matrix_command_t *command, int status,
                   shoal_fate_t fate)
{
    matrix_await(m, command);
    if (command->rc != 0 || command->status != status || command->fate != fate)
        fail_msg("want %s, %s: %s", shoal_error_name(status), shoal_fate_name(fate),
                 matrix_describe(command));
}

void matrix_expect_value(matrix_t *m, const matrix_command_t *command)
{
    matrix_expect(m, command, 0, SHOAL_FATE_REPLIED);
    if (!command->has_reply || command->is_error || command->is_wrong)
        fail_msg("want its value: %s", matrix_describe(command));
}

static bool comes_back(matrix_t *m, matrix_kind_t kind)
{
    const matrix_command_t *command = matrix_call(m, &(matrix_spec_t){.kind = kind});
    return command->rc == 0 && command->has_reply && !command->is_error &&
           !command->is_wrong;
}

void matrix_expect_works(matrix_t *m)
{
    MATRIX_WAIT_FOR(m, comes_back(m, MATRIX_READ));
    MATRIX_WAIT_FOR(m, comes_back(m, MATRIX_WRITE));
}
