/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_GREETING_RIG_H
#define TESTS_UNIT_CORE_GREETING_RIG_H

/* Replies by hand, and what a greeting says as words.  Included after <cmocka.h>. */

#include "core/greeting/greeting.h"
#include "resp/reply.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define MORE SHOAL__GREETING_MORE
#define DONE SHOAL__GREETING_DONE
#define FAILED SHOAL__GREETING_FAILED
#define FULL SHOAL__GREETING_FULL
#define BARE SHOAL__GREETING_BARE
#define TEST SHOAL__GREETING_TEST

#define SECRET "s3cret-p4ssword"
#define SETINFO                                                                        \
    "CLIENT SETINFO LIB-NAME shoal|CLIENT SETINFO LIB-VER " SHOAL_VERSION_STRING

#define IDENTITY "$id=42 addr=127.0.0.1:4000 laddr=127.0.0.1:6379"
#define PROCESS "$# Server\r\nrun_id:abc\r\n"

/* --- replies by hand --- */

static char detail[SHOAL__GREETING_DETAIL_BYTES]; /* of the greeting that runs */

static inline shoal_reply_t text_reply(shoal_reply_type_t type, const char *text)
{
    shoal_reply_t reply = {.type = (uint8_t)type};
    reply.as.text.data = text;
    reply.as.text.bytes = strlen(text);
    return reply;
}

static inline shoal_reply_t integer_reply(int64_t integer)
{
    shoal_reply_t reply = {.type = SHOAL_REPLY_INTEGER};
    reply.as.integer = integer;
    return reply;
}

/* The answer to HELLO; `type` is MAP or ARRAY.  kind: v, Valkey; s, a sentinel; c, a node of a
 * cluster. */
static inline shoal_reply_t server_reply(shoal_reply_type_t type, int64_t protocol,
                                         char kind)
{
    static shoal_reply_t items[10];
    shoal_reply_t reply = {.type = (uint8_t)type};

    items[0] = text_reply(SHOAL_REPLY_STRING, "server");
    items[1] = text_reply(SHOAL_REPLY_STRING, kind == 'v' ? "valkey" : "redis");
    items[2] = text_reply(SHOAL_REPLY_STRING, "version");
    items[3] = text_reply(SHOAL_REPLY_STRING, "7.0.15");
    items[4] = text_reply(SHOAL_REPLY_STRING, "proto");
    items[5] = integer_reply(protocol);
    items[6] = text_reply(SHOAL_REPLY_STRING, "id");
    items[7] = integer_reply(42);
    items[8] = text_reply(SHOAL_REPLY_STRING, "mode");
    items[9] = text_reply(SHOAL_REPLY_STRING, kind == 's'   ? "sentinel"
                                              : kind == 'c' ? "cluster"
                                                            : "standalone");
    reply.as.children.items = items;
    reply.as.children.count = reply.as.children.capacity = 10;
    return reply;
}

/* An array or a push that begins with this word. */
static inline shoal_reply_t list_reply(shoal_reply_type_t type, const char *word)
{
    static shoal_reply_t items[2];
    shoal_reply_t reply = {.type = (uint8_t)type};

    items[0] = text_reply(SHOAL_REPLY_STRING, word);
    items[1] = integer_reply(0);
    reply.as.children.items = items;
    reply.as.children.count = reply.as.children.capacity = 2;
    return reply;
}

/* Make a reply of its text in a script: "+text", "-text", "$text", ":n", "_" for nil,
 * "@word" and ">word" for an array (as the answer to ROLE) and a push that begin with the
 * word, and "%proto" or "*proto" for the answer to HELLO as a map or an array;
 * "%protov" is Valkey's, and so on: see server_reply(). */
static inline shoal_reply_t reply_of(const char *text)
{
    switch (*text) {
    case '+':
        return text_reply(SHOAL_REPLY_STATUS, text + 1);
    case '-':
        return text_reply(SHOAL_REPLY_ERROR, text + 1);
    case '$':
        return text_reply(SHOAL_REPLY_STRING, text + 1);
    case '%':
        return server_reply(SHOAL_REPLY_MAP, text[1] - '0', text[2]);
    case '*':
        return server_reply(SHOAL_REPLY_ARRAY, text[1] - '0', text[2]);
    case '@':
        return list_reply(SHOAL_REPLY_ARRAY, text + 1);
    case '>':
        return list_reply(SHOAL_REPLY_PUSH, text + 1);
    case ':':
        return integer_reply(text[1] - '0');
    default:
        return (shoal_reply_t){.type = SHOAL_REPLY_NIL};
    }
}

/* Append what is to be written: words separated by blanks, commands by '|'. */
static inline void spell(const shoal__greeting_t *greeting, char *words,
                         size_t words_bytes)
{
    const char *at = greeting->outgoing.memory + greeting->outgoing.head;
    const char *end = greeting->outgoing.memory + greeting->outgoing.tail;
    size_t used = 0;

    while (at < end) {
        int argc, bytes, skipped;
        assert_int_equal(sscanf(at, "*%d\r\n%n", &argc, &skipped), 1);
        at += skipped;
        used += (size_t)snprintf(words + used, words_bytes - used, used ? "|" : "");
        for (int i = 0; i < argc; i++) {
            assert_int_equal(sscanf(at, "$%d\r\n%n", &bytes, &skipped), 1);
            at += skipped;
            used += (size_t)snprintf(words + used, words_bytes - used, "%s%.*s",
                                     i ? " " : "", bytes, at);
            at += bytes + 2;
        }
    }
    words[used] = '\0';
}

/* Write all there is, and then give this answer. */
static inline shoal__greeting_verdict_t answer(shoal__greeting_t *greeting,
                                               const char *text)
{
    shoal_reply_t reply = reply_of(text);

    shoal__greeting_written(greeting, shoal__buffer_bytes(&greeting->outgoing));
    return shoal__greeting_reply(greeting, &reply);
}

#endif
