/* SPDX-License-Identifier: MIT */
#include "load/target.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int target_set_text(char **field, const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        return -1;
    free(*field);
    *field = copy;
    return 0;
}

int target_init(target_t *target)
{
    *target = (target_t){.port = 6379, .resp = 3};
    return target_set_text(&target->host, "127.0.0.1");
}

void target_release(target_t *target)
{
    free(target->host);
    free(target->socket_path);
    free(target->user);
    free(target->password);
    free(target->sentinel);
    free(target->sentinel_host);
    target_tls_release(&target->tls);
    *target = (target_t){0};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static int decode_percent(char *text)
{
    char *out = text;
    for (const char *in = text; *in != '\0'; in++) {
        if (*in != '%') {
            *out++ = *in;
            continue;
        }
        int high = hex_digit(in[1]);
        int low = high < 0 ? -1 : hex_digit(in[2]);
        if (low < 0)
            return -1;
        *out++ = (char)(high * 16 + low);
        in += 2;
    }
    *out = '\0';
    return 0;
}

static int read_number(const char *text, long max, int *ret_number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    long number = strtol(text, &end, 10);
    if (*end != '\0' || number > max)
        return -1;
    *ret_number = (int)number;
    return 0;
}

/* Takes [[user]:password@] off the front of `rest`. */
static int take_credentials(target_t *target, char **rest)
{
    char *at = strrchr(*rest, '@');
    if (!at)
        return 0;

    *at = '\0';
    char *user = *rest;
    char *password = strchr(user, ':');
    *rest = at + 1;
    if (!password)
        return -1;
    *password++ = '\0';
    if (decode_percent(user) < 0 || decode_percent(password) < 0)
        return -1;
    if (target_set_text(&target->password, password) < 0)
        return -1;
    return *user == '\0' ? 0 : target_set_text(&target->user, user);
}

/* host[:port] or [v6][:port] */
static int take_address(target_t *target, char *address)
{
    char *port = NULL;
    char *host = address;

    if (*address == '[') {
        char *bracket = strchr(address, ']');
        if (!bracket || (bracket[1] != '\0' && bracket[1] != ':'))
            return -1;
        host = address + 1;
        port = bracket[1] == ':' ? bracket + 2 : NULL;
        *bracket = '\0';
    } else {
        char *colon = strchr(address, ':');
        if (colon) {
            *colon = '\0';
            port = colon + 1;
        }
    }
    target->port = 6379;
    if (port && (read_number(port, 65535, &target->port) < 0 || target->port == 0))
        return -1;
    return *host == '\0' ? -1 : target_set_text(&target->host, host);
}

static int take_rest(target_t *target, char *rest, bool is_unix)
{
    char *query = strchr(rest, '?');
    if (query) {
        *query++ = '\0';
        if (strncmp(query, "db=", 3) != 0 ||
            read_number(query + 3, INT_MAX, &target->database) < 0)
            return -1;
    }

    if (is_unix) {
        char *slash = strchr(rest, '/');
        char *path = slash;
        if (!slash)
            return -1;
        /* An '@' belongs to the credentials only in front of the path. */
        *slash = '\0';
        if (take_credentials(target, &rest) < 0 || *rest != '\0')
            return -1;
        *path = '/';
        return target_set_text(&target->socket_path, path);
    }

    char *slash = strchr(rest, '/');
    if (slash) {
        *slash++ = '\0';
        if (*slash != '\0' && read_number(slash, INT_MAX, &target->database) < 0)
            return -1;
    }
    if (take_credentials(target, &rest) < 0)
        return -1;
    target_set_text(&target->socket_path, NULL);
    return take_address(target, rest);
}

int target_set_url(target_t *target, const char *url, const char **ret_problem)
{
    static const struct {
        const char *scheme;
        bool is_unix, is_tls, is_cluster;
    } schemes[] = {
        {"redis://", false, false, false},
        {"valkey://", false, false, false},
        {"rediss://", false, true, false},
        {"valkeys://", false, true, false},
        {"unix://", true, false, false},
        {"redis+unix://", true, false, false},
        {"valkey+unix://", true, false, false},
        {"redis+cluster://", false, false, true},
        {"valkey+cluster://", false, false, true},
        {"rediss+cluster://", false, true, true},
        {"valkeys+cluster://", false, true, true},
    };

    *ret_problem = "expected redis://[[user]:password@]host[:port][/db], rediss://..., "
                   "redis+cluster://... with one node, rediss+cluster://... "
                   "or unix://[[user]:password@]/path[?db=N]";
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t bytes = strlen(schemes[i].scheme);
        if (strncmp(url, schemes[i].scheme, bytes) != 0)
            continue;
        char *rest = strdup(url + bytes);
        int rc = rest ? take_rest(target, rest, schemes[i].is_unix) : -1;
        free(rest);
        target->is_tls = target->is_tls || schemes[i].is_tls;
        target->is_cluster = target->is_cluster || schemes[i].is_cluster;
        return rc;
    }
    return -1;
}

void target_describe(const target_t *target, char *text, size_t text_bytes)
{
    if (target->socket_path)
        snprintf(text, text_bytes, "unix://%s%s%.0d", target->socket_path,
                 target->database ? "?db=" : "", target->database);
    else
        snprintf(text, text_bytes,
                 strchr(target->host, ':') ? "redis%s%s://[%s]:%d/%d"
                                           : "redis%s%s://%s:%d/%d",
                 target->is_tls ? "s" : "", target->is_cluster ? "+cluster" : "",
                 target->host, target->port, target->database);
}

/* Sends one command of the greeting.  Returns -1 with the error in `problem`. */
static int greet(redisContext *connection, char *problem, size_t problem_bytes,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(connection, format, args);
    va_end(args);

    if (reply && reply->type != REDIS_REPLY_ERROR) {
        freeReplyObject(reply);
        return 0;
    }
    snprintf(problem, problem_bytes, "%s", reply ? reply->str : connection->errstr);
    freeReplyObject(reply);
    return -1;
}

static int greet_all(const target_t *target, redisContext *connection, char *problem,
                     size_t bytes)
{
    if (target->password && target->user &&
        greet(connection, problem, bytes, "AUTH %s %s", target->user,
              target->password) < 0)
        return -1;
    if (target->password && !target->user &&
        greet(connection, problem, bytes, "AUTH %s", target->password) < 0)
        return -1;
    /* Like the client under test: a server without HELLO is spoken to in RESP2. */
    if (target->resp == 3 && greet(connection, problem, bytes, "HELLO 3") < 0 &&
        connection->err)
        return -1;
    if (target->database != 0 &&
        greet(connection, problem, bytes, "SELECT %d", target->database) < 0)
        return -1;
    return greet(connection, problem, bytes, "PING");
}

redisContext *target_connect(const target_t *target, char *problem,
                             size_t problem_bytes)
{
    /* A server that is busy with other clients answers late. */
    const struct timeval five_seconds = {.tv_sec = 5}, a_minute = {.tv_sec = 60};
    redisOptions options = {
        .connect_timeout = &five_seconds,
        .command_timeout = &a_minute,
    };

    if (target->socket_path)
        REDIS_OPTIONS_SET_UNIX(&options, target->socket_path);
    else
        REDIS_OPTIONS_SET_TCP(&options, target->host, target->port);

    redisContext *connection = redisConnectWithOptions(&options);
    if (!connection || connection->err) {
        snprintf(problem, problem_bytes, "%s",
                 connection ? connection->errstr : "out of memory");
    } else if (target->is_tls && target_tls_begin(&target->tls, connection) < 0) {
        snprintf(problem, problem_bytes, "%s",
                 connection->err ? connection->errstr : "TLS cannot be begun");
    } else if (greet_all(target, connection, problem, problem_bytes) == 0) {
        return connection;
    }
    if (connection)
        redisFree(connection);
    return NULL;
}

/* It has no credentials here, and no databases. */
static redisContext *connect_to_sentinel(const target_t *target, char *problem,
                                         size_t problem_bytes)
{
    target_t sentinel = *target;

    sentinel.user = sentinel.password = NULL;
    sentinel.database = 0;
    sentinel.resp = 2;
    return target_connect(&sentinel, problem, problem_bytes);
}

static int move_to(target_t *target, const redisReply *reply)
{
    long port = 0;

    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
        port = strtol(reply->element[1]->str, NULL, 10);
    if (port < 1 || port > 65535 ||
        target_set_text(&target->sentinel_host, target->host) < 0 ||
        target_set_text(&target->host, reply->element[0]->str) < 0)
        return -1;
    target->sentinel_port = target->port;
    target->port = (int)port;
    return 0;
}

int target_find_primary(target_t *target, char *problem, size_t problem_bytes)
{
    redisContext *control = connect_to_sentinel(target, problem, problem_bytes);
    if (!control)
        return -1;

    redisReply *reply =
        redisCommand(control, "SENTINEL GET-MASTER-ADDR-BY-NAME %s", target->sentinel);
    int rc = move_to(target, reply);
    if (rc < 0)
        snprintf(problem, problem_bytes, "the sentinel knows no primary '%s'",
                 target->sentinel);
    if (reply)
        freeReplyObject(reply);
    redisFree(control);
    return rc;
}
