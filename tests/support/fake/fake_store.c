/* SPDX-License-Identifier: MIT */
#include "support/fake/fake_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

typedef struct entry {
    struct entry *next;
    int64_t database;
    fake_bytes_t key, value;
    int64_t number; /* of a counter; elements of a list */
} entry_t;

struct fake_store {
    fake_identity_t identity;
    int port; /* announced to clients of the cluster */
    entry_t *buckets[BUCKETS];
};

typedef struct call {
    fake_store_t *store;
    fake_session_t *session;
    const fake_request_t *request;
    fake_bytes_t *reply;
} call_t;

fake_store_t *fake_store_new(const fake_identity_t *identity)
{
    fake_store_t *store = fake_must(calloc(1, sizeof *store));
    store->identity = *identity;
    return store;
}

void fake_store_set_password(fake_store_t *store, const char *password)
{
    store->identity.password = password;
}

void fake_store_announce(fake_store_t *store, int port)
{
    store->port = port;
}

void fake_store_free(fake_store_t *store)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        for (entry_t *entry = store->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            fake_bytes_release(&entry->key);
            fake_bytes_release(&entry->value);
            free(entry);
        }
    }
    free(store);
}

void fake_session_init(fake_session_t *session, const fake_store_t *store,
                       unsigned connection)
{
    *session = (fake_session_t){
        .connection = connection, .protocol = 2, .is_known = !store->identity.password};
}

void fake_session_release(fake_session_t *session)
{
    fake_bytes_release(&session->queued);
}

static entry_t **bucket_of(const fake_store_t *store, const char *key, size_t bytes)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)key[i]) * 1099511628211u;
    return (entry_t **)&store->buckets[hash % BUCKETS];
}

static entry_t *find(const fake_store_t *store, int64_t database, const char *key,
                     size_t bytes)
{
    for (entry_t *entry = *bucket_of(store, key, bytes); entry; entry = entry->next)
        if (entry->database == database && entry->key.size == bytes &&
            memcmp(entry->key.data, key, bytes) == 0)
            return entry;
    return NULL;
}

static entry_t *find_or_add(const call_t *call)
{
    const fake_arg_t *key = &call->request->argv[1];
    entry_t *entry = find(call->store, call->session->database, key->data, key->size);

    if (!entry) {
        entry_t **bucket = bucket_of(call->store, key->data, key->size);
        entry = fake_must(calloc(1, sizeof *entry));
        entry->database = call->session->database;
        fake_bytes_add(&entry->key, key->data, key->size);
        entry->next = *bucket;
        *bucket = entry;
    }
    return entry;
}

int64_t fake_store_number(const fake_store_t *store, int64_t database, const char *key)
{
    const entry_t *entry = find(store, database, key, strlen(key));
    return entry ? entry->number : 0;
}

static void add_nil(const call_t *call)
{
    fake_bytes_text(call->reply, call->session->protocol == 3 ? "_\r\n" : "$-1\r\n");
}

static fake_verdict_t reject(const call_t *call, const char *text)
{
    fake_bytes_text(call->reply, text);
    return FAKE_REJECTED;
}

/* Do these credentials match?  user NULL: the default user. */
static bool knows(const call_t *call, const fake_arg_t *user,
                  const fake_arg_t *password)
{
    const fake_identity_t *identity = &call->store->identity;
    const char *name = identity->user ? identity->user : "default";

    if (!identity->password)
        return true;
    return (user ? user->size == strlen(name) &&
                       memcmp(user->data, name, user->size) == 0
                 : !identity->user) &&
           password->size == strlen(identity->password) &&
           memcmp(password->data, identity->password, password->size) == 0;
}

static const char wrong_password[] =
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

static fake_verdict_t answer_hello(const call_t *call)
{
    const fake_request_t *request = call->request;
    fake_session_t *session = call->session;

    if (call->store->identity.kind == FAKE_RESP2)
        return reject(call,
                      "-ERR unknown command 'HELLO', with args beginning with: \r\n");
    if (!fake_request_is(request, 1, "3") && !fake_request_is(request, 1, "2"))
        return reject(call, "-NOPROTO unsupported protocol version\r\n");
    if (fake_request_is(request, 2, "AUTH") && request->argc >= 5) {
        if (!knows(call, &request->argv[3], &request->argv[4]))
            return reject(call, wrong_password);
        session->is_known = true;
    }
    if (!session->is_known)
        return reject(call, "-NOAUTH HELLO must be called with the client already "
                            "authenticated\r\n");
    session->protocol = fake_request_is(request, 1, "3") ? 3 : 2;
    fake_bytes_text(call->reply, session->protocol == 3 ? "%7\r\n" : "*14\r\n");
    fake_bytes_text(call->reply, "$6\r\nserver\r\n$5\r\nredis\r\n"
                                 "$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n");
    fake_bytes_number(call->reply, ':', session->protocol);
    fake_bytes_text(call->reply, "$2\r\nid\r\n");
    fake_bytes_number(call->reply, ':', session->connection);
    fake_bytes_text(call->reply, call->store->identity.is_cluster
                                     ? "$4\r\nmode\r\n$7\r\ncluster\r\n"
                                     : "$4\r\nmode\r\n$10\r\nstandalone\r\n");
    fake_bytes_text(call->reply, "$4\r\nrole\r\n$6\r\nmaster\r\n"
                                 "$7\r\nmodules\r\n*0\r\n");
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_auth(const call_t *call)
{
    const fake_request_t *request = call->request;
    const fake_arg_t *user = request->argc == 3 ? &request->argv[1] : NULL;

    if (!knows(call, user, &request->argv[request->argc - 1]))
        return reject(call, wrong_password);
    call->session->is_known = true;
    fake_bytes_text(call->reply, "+OK\r\n");
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_select(const call_t *call)
{
    char digits[16] = "";
    const fake_arg_t *arg = &call->request->argv[1];

    memcpy(digits, arg->data, arg->size < 15 ? arg->size : 15);
    long database = strtol(digits, NULL, 10);
    if (database < 0 || database > 15)
        return reject(call, "-ERR DB index is out of range\r\n");
    call->session->database = database;
    fake_bytes_text(call->reply, "+OK\r\n");
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_client(const call_t *call)
{
    char line[96];

    if (fake_request_is(call->request, 1, "ID")) {
        fake_bytes_number(call->reply, ':', call->session->connection);
    } else if (fake_request_is(call->request, 1, "INFO")) {
        int length = snprintf(
            line, sizeof line, "id=%u addr=127.0.0.1:%u laddr=127.0.0.1:6379 name=\n",
            call->session->connection, 10000 + call->session->connection);
        fake_bytes_bulk(call->reply, line, (size_t)length);
    } else if (fake_request_is(call->request, 1, "KILL")) {
        /* No connection is ended: those that the client lost are not served any
         * more. */
        fake_bytes_number(call->reply, ':', 0);
    } else {
        fake_bytes_text(call->reply, "+OK\r\n");
    }
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_info(const call_t *call)
{
    const char *text =
        call->store->identity.is_cluster
            ? "# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\n"
              "run_id:fa4e\r\n"
            : "# Server\r\nredis_version:7.0.15\r\n"
              "redis_mode:standalone\r\nrun_id:fa4e\r\n";

    fake_bytes_bulk(call->reply, text, strlen(text));
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_role(const call_t *call)
{
    fake_bytes_text(call->reply, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_cluster(const call_t *call)
{
    const fake_store_t *store = call->store;
    char line[96];

    if (!store->identity.is_cluster)
        return reject(call, "-ERR This instance has cluster support disabled\r\n");
    if (fake_request_is(call->request, 1, "SLOTS")) {
        fake_bytes_text(call->reply, "*1\r\n*3\r\n:0\r\n:16383\r\n"
                                     "*3\r\n$9\r\n127.0.0.1\r\n");
        fake_bytes_number(call->reply, ':', store->port);
        fake_bytes_text(call->reply, "$4\r\nsolo\r\n");
        return FAKE_EXECUTED;
    }
    int length = snprintf(
        line, sizeof line,
        "solo 127.0.0.1:%d@1 myself,master - 0 0 1 connected 0-16383\n", store->port);
    fake_bytes_bulk(call->reply, line, (size_t)length);
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_ping(const call_t *call)
{
    if (call->request->argc == 1)
        fake_bytes_text(call->reply, "+PONG\r\n");
    else
        fake_bytes_bulk(call->reply, call->request->argv[1].data,
                        call->request->argv[1].size);
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_set(const call_t *call)
{
    entry_t *entry = find_or_add(call);
    entry->value.size = 0;
    fake_bytes_add(&entry->value, call->request->argv[2].data,
                   call->request->argv[2].size);
    fake_bytes_text(call->reply, "+OK\r\n");
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_get(const call_t *call)
{
    const fake_arg_t *key = &call->request->argv[1];
    const entry_t *entry =
        find(call->store, call->session->database, key->data, key->size);

    if (entry && entry->number == 0) {
        fake_bytes_bulk(call->reply, entry->value.data, entry->value.size);
    } else if (entry) {
        char digits[24];
        int length = snprintf(digits, sizeof digits, "%" PRId64, entry->number);
        fake_bytes_bulk(call->reply, digits, (size_t)length);
    } else {
        add_nil(call);
    }
    return FAKE_EXECUTED;
}

/* INCR, and RPUSH of any number of elements: the elements are only counted. */
static fake_verdict_t answer_count(const call_t *call)
{
    size_t argc = call->request->argc;
    entry_t *entry = find_or_add(call);
    entry->number += argc > 2 ? (int64_t)argc - 2 : 1;
    fake_bytes_number(call->reply, ':', entry->number);
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_one(const call_t *call);

static fake_verdict_t answer_exec(const call_t *call)
{
    fake_session_t *session = call->session;
    fake_request_t request = {0};
    fake_bytes_t replies = {0};
    int64_t count = 0;

    if (!session->in_multi)
        return reject(call, "-ERR EXEC without MULTI\r\n");
    session->in_multi = false;
    if (session->is_multi_refused) {
        session->queued.size = 0;
        return reject(call, "-EXECABORT Transaction discarded because of previous "
                            "errors.\r\n");
    }
    for (size_t at = 0, used; at < session->queued.size; at += used, count++) {
        fake_request_parse(&request, session->queued.data + at,
                           session->queued.size - at, &used);
        call_t inner = {call->store, session, &request, &replies};
        (void)answer_one(&inner);
    }
    fake_bytes_number(call->reply, '*', count);
    fake_bytes_add(call->reply, replies.data, replies.size);
    session->queued.size = 0;
    fake_bytes_release(&replies);
    fake_request_release(&request);
    return FAKE_EXECUTED;
}

static fake_verdict_t answer_multi(const call_t *call)
{
    call->session->in_multi = true;
    call->session->is_multi_refused = false;
    fake_bytes_text(call->reply, "+OK\r\n");
    return FAKE_EXECUTED;
}

static const struct answer {
    const char *name;
    size_t argc_min;
    fake_verdict_t (*answer)(const call_t *call);
} answers[] = {
    {"HELLO", 2, answer_hello},     {"AUTH", 2, answer_auth},
    {"SELECT", 2, answer_select},   {"CLIENT", 2, answer_client},
    {"PING", 1, answer_ping},       {"ECHO", 2, answer_ping},
    {"SET", 3, answer_set},         {"GET", 2, answer_get},
    {"INCR", 2, answer_count},      {"RPUSH", 3, answer_count},
    {"EXEC", 1, answer_exec},       {"MULTI", 1, answer_multi},
    {"INFO", 1, answer_info},       {"ROLE", 1, answer_role},
    {"CLUSTER", 2, answer_cluster},
};

static fake_verdict_t answer_one(const call_t *call)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if (!fake_request_is(call->request, 0, answers[i].name))
            continue;
        if (call->request->argc < answers[i].argc_min)
            return reject(call, "-ERR wrong number of arguments\r\n");
        return answers[i].answer(call);
    }
    if (call->store->identity.kind == FAKE_BARE)
        return FAKE_HANG_UP;
    return reject(call, "-ERR unknown command\r\n");
}

void fake_store_refused(fake_session_t *session, const fake_request_t *request)
{
    session->is_multi_refused = true;
    if (!session->in_multi || !fake_request_is(request, 0, "EXEC"))
        return;
    session->in_multi = false;
    session->queued.size = 0;
}

fake_verdict_t fake_store_answer(fake_store_t *store, fake_session_t *session,
                                 const fake_request_t *request, const char *raw,
                                 size_t raw_bytes, fake_bytes_t *reply)
{
    call_t call = {store, session, request, reply};
    bool is_exec = fake_request_is(request, 0, "EXEC");

    if (store->identity.kind == FAKE_BARE &&
        (fake_request_is(request, 0, "HELLO") || fake_request_is(request, 0, "CLIENT")))
        return FAKE_HANG_UP;
    if (!session->is_known && !fake_request_is(request, 0, "HELLO") &&
        !fake_request_is(request, 0, "AUTH"))
        return reject(&call, "-NOAUTH Authentication required.\r\n");
    if (session->in_multi && !is_exec) {
        fake_bytes_add(&session->queued, raw, raw_bytes);
        fake_bytes_text(reply, "+QUEUED\r\n");
        return FAKE_QUEUED;
    }
    return answer_one(&call);
}
