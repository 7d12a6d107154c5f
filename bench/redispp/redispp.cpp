/* SPDX-License-Identifier: MIT */
#include "redispp.h"

#include <cstdio>
#include <iterator>
#include <string>
#include <sw/redis++/redis++.h>
#include <vector>

struct redispp {
    sw::redis::Redis redis;
};

struct redispp_reply {
    sw::redis::ReplyUPtr reply; /* NULL: an error reply */
    std::string error;
};

static void explain(char *problem, size_t problem_bytes, const char *text)
{
    std::snprintf(problem, problem_bytes, "%s", text);
}

redispp_t *redispp_open(const redispp_address_t *address, size_t connections,
                        char *problem, size_t problem_bytes)
try {
    sw::redis::ConnectionOptions options;
    sw::redis::ConnectionPoolOptions pool;

    if (address->socket_path) {
        options.type = sw::redis::ConnectionType::UNIX;
        options.path = address->socket_path;
    } else {
        options.host = address->host;
        options.port = address->port;
    }
    if (address->user)
        options.user = address->user;
    if (address->password)
        options.password = address->password;
    options.db = address->database;
    pool.size = connections;
    return new redispp{sw::redis::Redis(options, pool)};
} catch (const std::exception &error) {
    explain(problem, problem_bytes, error.what());
    return nullptr;
}

void redispp_close(redispp_t *client)
{
    delete client;
}

redispp_reply_t *redispp_call(redispp_t *client, size_t argc, const char *const *argv,
                              const size_t *argvlen, char *problem,
                              size_t problem_bytes)
try {
    thread_local std::vector<sw::redis::StringView> words;

    words.clear();
    for (size_t i = 0; i < argc; i++)
        words.emplace_back(argv[i], argvlen[i]);
    return new redispp_reply{client->redis.command(words.begin(), words.end()), {}};
} catch (const sw::redis::ReplyError &error) {
    return new redispp_reply{nullptr, error.what()};
} catch (const std::exception &error) {
    explain(problem, problem_bytes, error.what());
    return nullptr;
}

const char *redispp_text(const redispp_reply_t *reply, size_t *ret_bytes,
                         int *ret_is_error)
{
    *ret_is_error = !reply->reply;
    *ret_bytes = reply->reply ? reply->reply->len : reply->error.size();
    return reply->reply ? reply->reply->str : reply->error.c_str();
}

void redispp_free(redispp_reply_t *reply)
{
    delete reply;
}
