/* SPDX-License-Identifier: MIT */
#include "resp/push.h"

#include "resp/reply.h"

/* ---- as it stands ---- */

/* What a message in its usual form begins with, behind the byte of the type. */
typedef struct form {
    const char *head;
    unsigned head_bytes;
    bool has_pattern;
    shoal_name_kind_t name_kind;
} form_t;

#define FORM(head) head, sizeof(head) - 1

static const form_t forms[] = {
    {FORM("3\r\n$7\r\nmessage\r\n"), false, SHOAL_NAME_CHANNEL},
    {FORM("4\r\n$8\r\npmessage\r\n"), true, SHOAL_NAME_PATTERN},
    {FORM("3\r\n$8\r\nsmessage\r\n"), false, SHOAL_NAME_SHARD},
};

#define LENGTH_DIGITS_MAX 9 /* longer ones are not the usual form */

/* A string: `$5\r\nhello\r\n`.  Returns what stands behind it; NULL: it is none, or not
 * whole. */
static const char *scan_string(const char *at, const char *end, shoal__bytes_t *ret)
{
    const char *digits = at + 1;
    size_t bytes = 0;

    if (end - at < 6 || *at != '$') /* the shortest is empty */
        return NULL;
    for (at = digits; at < end && (unsigned char)(*at - '0') <= 9; at++)
        bytes = bytes * 10 + (unsigned char)(*at - '0');
    if (at == digits || at - digits > LENGTH_DIGITS_MAX ||
        (*digits == '0' && at - digits > 1) || end - at < 2 || at[0] != '\r' ||
        at[1] != '\n')
        return NULL;
    at += 2;
    if ((size_t)(end - at) < bytes + 2 || at[bytes] != '\r' || at[bytes + 1] != '\n')
        return NULL;
    *ret = (shoal__bytes_t){at, bytes};
    return at + bytes + 2;
}

static const form_t *form_of(shoal__bytes_t text)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (text.bytes > forms[i].head_bytes &&
            memcmp(text.data + 1, forms[i].head, forms[i].head_bytes) == 0)
            return &forms[i];
    return NULL;
}

size_t shoal__push_scan(shoal__bytes_t text, bool is_resp3, uint64_t bytes_max,
                        shoal__push_t *ret_push)
{
    const char *end = text.data + text.bytes, *at;
    const form_t *form;

    if (text.bytes == 0 || *text.data != (is_resp3 ? '>' : '*'))
        return 0;
    form = form_of(text);
    if (!form)
        return 0;
    at = text.data + 1 + form->head_bytes;
    at = scan_string(at, end, &ret_push->name);
    ret_push->channel = ret_push->name;
    if (at && form->has_pattern)
        at = scan_string(at, end, &ret_push->channel);
    if (at)
        at = scan_string(at, end, &ret_push->payload);
    if (!at || (size_t)(at - text.data) > bytes_max)
        return 0;
    ret_push->kind = SHOAL__PUSH_MESSAGE;
    ret_push->name_kind = form->name_kind;
    return (size_t)(at - text.data);
}

/* ---- as a tree ---- */

/* What the words of servers mean. */
typedef struct word {
    const char *word;
    shoal__push_kind_t kind;
    shoal_name_kind_t name_kind;
    size_t elements;
} word_t;

static const word_t words[] = {
    {"message", SHOAL__PUSH_MESSAGE, SHOAL_NAME_CHANNEL, 3},
    {"pmessage", SHOAL__PUSH_MESSAGE, SHOAL_NAME_PATTERN, 4},
    {"smessage", SHOAL__PUSH_MESSAGE, SHOAL_NAME_SHARD, 3},
    {"subscribe", SHOAL__PUSH_CONFIRMED, SHOAL_NAME_CHANNEL, 3},
    {"psubscribe", SHOAL__PUSH_CONFIRMED, SHOAL_NAME_PATTERN, 3},
    {"ssubscribe", SHOAL__PUSH_CONFIRMED, SHOAL_NAME_SHARD, 3},
    {"unsubscribe", SHOAL__PUSH_DROPPED, SHOAL_NAME_CHANNEL, 3},
    {"punsubscribe", SHOAL__PUSH_DROPPED, SHOAL_NAME_PATTERN, 3},
    {"sunsubscribe", SHOAL__PUSH_DROPPED, SHOAL_NAME_SHARD, 3},
};

/* The text of element `i`.  data NULL: there is none, or it is no text. */
static shoal__bytes_t text_at(const shoal_reply_t *reply, size_t i)
{
    shoal__bytes_t text;

    text.data = shoal_reply_string(shoal_reply_at(reply, i), &text.bytes);
    return text;
}

static const word_t *word_of(const shoal_reply_t *reply)
{
    shoal__bytes_t text = text_at(reply, 0);

    for (size_t i = 0; text.data && i < sizeof words / sizeof *words; i++)
        if (shoal_reply_count(reply) == words[i].elements &&
            shoal__bytes_equal(text,
                               (shoal__bytes_t){words[i].word, strlen(words[i].word)}))
            return &words[i];
    return NULL;
}

void shoal__push_read(const shoal_reply_t *reply, shoal__push_t *ret_push)
{
    const word_t *word = word_of(reply);

    *ret_push = (shoal__push_t){.kind = SHOAL__PUSH_OTHER};
    if (!word)
        return;
    *ret_push = (shoal__push_t){
        .kind = word->kind, .name_kind = word->name_kind, .name = text_at(reply, 1)};
    if (word->kind == SHOAL__PUSH_MESSAGE) {
        ret_push->channel = text_at(reply, word->elements - 2);
        ret_push->payload = text_at(reply, word->elements - 1);
        if (!ret_push->name.data || !ret_push->channel.data || !ret_push->payload.data)
            ret_push->kind = SHOAL__PUSH_OTHER;
    }
}

bool shoal__push_is_unasked(const shoal_reply_t *reply)
{
    return shoal_reply_type(reply) == SHOAL_REPLY_ARRAY && word_of(reply) != NULL;
}
