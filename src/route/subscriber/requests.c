/* SPDX-License-Identifier: MIT */
#include "route/subscriber/requests.h"

#include "route/errand.h"
#include <shoal/errors.h>
#include <string.h>

#define NONCE_DIGITS SHOAL__HEX_DIGITS

void shoal__write_hex(uint64_t number, char digits[SHOAL__HEX_DIGITS])
{
    for (unsigned i = 0; i < SHOAL__HEX_DIGITS; i++)
        digits[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
}

/* 0: it is none. */
static uint64_t read_nonce(const shoal_reply_t *reply)
{
    uint64_t nonce = 0;
    size_t bytes;
    /* RESP2, with a subscription: an array, of which it is the second element. */
    const char *digits = shoal_reply_string(
        shoal_reply_count(reply) == 2 ? shoal_reply_at(reply, 1) : reply, &bytes);

    if (!digits || bytes != NONCE_DIGITS)
        return 0;
    for (unsigned i = 0; i < NONCE_DIGITS; i++) {
        const char *digit = memchr("0123456789abcdef", digits[i], 16);
        if (!digit)
            return 0;
        nonce = nonce << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    return nonce;
}

static void on_request(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__asker_t *asker = data;
    shoal__bytes_t error;
    (void)client;

    if (result->status < 0 || shoal_reply_type(result->reply) != SHOAL_REPLY_ERROR)
        return; /* lost, or answered by pushes */
    error.data = shoal_reply_string(result->reply, &error.bytes);
    if (asker->on_refused)
        asker->on_refused(asker, &error);
    shoal__subscriptions_refused(asker->subscriptions, result->tag, error,
                                 asker->pipe->now_us);
}

/* False: the server is out of step. */
static bool is_in_step(shoal__asker_t *asker, const shoal_result_t *result)
{
    shoal__bytes_t error;

    if (shoal_reply_type(result->reply) != SHOAL_REPLY_ERROR)
        return shoal__subscriptions_fenced(asker->subscriptions, result->tag,
                                           read_nonce(result->reply));
    error.data = shoal_reply_string(result->reply, &error.bytes);
    return shoal__subscriptions_turned_away(asker->subscriptions, result->tag, error);
}

static void on_fence(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__asker_t *asker = data;
    (void)client;

    if (result->status >= 0 && !is_in_step(asker, result))
        shoal__pipe_refuse(asker->pipe, SHOAL_EDESYNC,
                           "the server did not confirm a name that it was asked for");
}

/* False: no memory. */
static bool send_request(shoal__asker_t *asker, const shoal__asking_t *asking,
                         uint64_t now_us)
{
    static const char *const words[3][2] = {{"UNSUBSCRIBE", "SUBSCRIBE"},
                                            {"PUNSUBSCRIBE", "PSUBSCRIBE"},
                                            {"SUNSUBSCRIBE", "SSUBSCRIBE"}};
    const char *argv[1 + SHOAL__REQUEST_NAMES_MAX];
    size_t argvlen[1 + SHOAL__REQUEST_NAMES_MAX];
    const shoal_command_t command = {asking->count + 1, argv, argvlen};
    char digits[NONCE_DIGITS];
    const char *const ping[] = {"PING", digits};
    const size_t pinglen[] = {4, NONCE_DIGITS};
    const shoal_command_t fence = {2, ping, pinglen};
    const shoal__errand_t errand = {.on_answer = on_request,
                                    .data = asker,
                                    .tag = asking->number,
                                    .shape = SHOAL__SHAPE_PUSHES};
    const shoal__errand_t after = {
        .on_answer = on_fence, .data = asker, .tag = asking->number};

    argv[0] = words[asking->kind][asking->is_subscribe];
    argvlen[0] = strlen(argv[0]);
    for (uint32_t i = 0; i < asking->count; i++) {
        argv[i + 1] = asking->topics[i]->data;
        argvlen[i + 1] = asking->topics[i]->bytes;
    }
    shoal__write_hex(asking->nonce, digits);
    return shoal__errand_send_over(asker->conn, asker->pipe, &command, &errand,
                                   now_us) &&
           shoal__errand_send_over(asker->conn, asker->pipe, &fence, &after, now_us);
}

bool shoal__asker_ask(shoal__asker_t *asker, uint64_t now_us)
{
    shoal__subscriptions_t *subscriptions = asker->subscriptions;

    while (shoal__subscriptions_wake_us(subscriptions, now_us) <= now_us) {
        const shoal__asking_t *asking = shoal__subscriptions_next(
            subscriptions, shoal__random_next(&asker->conn->set->random), now_us);
        if (!asking)
            return true;
        if (!send_request(asker, asking, now_us))
            return false;
    }
    return true;
}
