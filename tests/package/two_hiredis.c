/* SPDX-License-Identifier: MIT */
/* A program with a hiredis of its own, of another version than libshoal.a's: each side
 * uses the code that it was compiled for. */
#include <hiredis/hiredis.h>
#include <shoal/shoal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                             \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* Both formats and both parsers, on the same key. */
static void cross(redisContext *context, shoal_client_t *client)
{
    shoal_result_t *result;
    size_t bytes = 0;

    redisReply *reply = redisCommand(context, "SET two_hiredis %s", "herring");
    REQUIRE(reply && reply->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);

    REQUIRE(shoal_client_callf(client, &result, "GET %s", "two_hiredis") == 0);
    const char *text = shoal_reply_string(shoal_result_reply(result), &bytes);
    REQUIRE(bytes == strlen("herring") && memcmp(text, "herring", bytes) == 0);
    shoal_result_release(result);

    /* A map: the parser of hiredis 0.14 knows none, and ours does. */
    REQUIRE(shoal_client_callf(client, &result, "CONFIG GET maxclients") == 0);
    REQUIRE(shoal_reply_type(shoal_result_reply(result)) == SHOAL_REPLY_MAP);
    shoal_result_release(result);

    reply = redisCommand(context, "MGET two_hiredis none");
    REQUIRE(reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    REQUIRE(strcmp(reply->element[0]->str, "herring") == 0);
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    shoal_client_t *client;
    REQUIRE(argc == 3);
    REQUIRE(shoal_client_open_url(argv[1], &client, NULL) == 0);
    redisContext *context = redisConnectUnix(argv[2]);
    REQUIRE(context && !context->err);

    for (int round = 0; round < 100; round++)
        cross(context, client);
    redisFree(context);
    shoal_client_close_and_wait(client, 0);
    printf("hiredis %d.%d.%d beside shoal %s\n", HIREDIS_MAJOR, HIREDIS_MINOR,
           HIREDIS_PATCH, shoal_version());
    return 0;
}
