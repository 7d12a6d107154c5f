/* SPDX-License-Identifier: MIT */
#include "server/server_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text behind "name:" at the begin of a line, or NULL. */
static const char *find_field(const char *info, const char *name)
{
    size_t bytes = strlen(name);

    for (const char *line = info; line && *line != '\0';) {
        if (strncmp(line, name, bytes) == 0 && line[bytes] == ':')
            return line + bytes + 1;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return NULL;
}

/* NULL if there is none. */
static redisReply *ask(redisContext *control)
{
    redisReply *reply = redisCommand(control, "INFO");
    if (reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_VERB))
        return reply;
    freeReplyObject(reply);
    return NULL;
}

/* Adds what one server says; what one does not say, all do not. */
static void add(redisContext *control, server_info_t *info)
{
    redisReply *reply = ask(control);
    const char *text = reply ? reply->str : NULL;
    const char *user = find_field(text, "used_cpu_user");
    const char *system = find_field(text, "used_cpu_sys");
    const char *reads = find_field(text, "total_reads_processed");

    info->has_cpu = info->has_cpu && user && system;
    if (user && system)
        info->cpu_ns += (uint64_t)((strtod(user, NULL) + strtod(system, NULL)) * 1e9);
    info->has_reads = info->has_reads && reads;
    if (reads)
        info->reads += strtoull(reads, NULL, 10);
    freeReplyObject(reply);
}

void server_info_get(const controls_t *controls, server_info_t *ret_info)
{
    bool has_any = controls->count > 0;

    *ret_info = (server_info_t){.has_cpu = has_any, .has_reads = has_any};
    for (size_t i = 0; i < controls->count; i++)
        add(controls->connections[i], ret_info);
}

void server_info_version(const controls_t *controls, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "unknown");
    redisReply *reply = controls->count > 0 ? ask(controls->connections[0]) : NULL;
    if (!reply)
        return;

    const char *valkey = find_field(reply->str, "valkey_version");
    const char *redis = find_field(reply->str, "redis_version");
    const char *version = valkey ? valkey : redis;
    if (version)
        snprintf(text, text_bytes, "%s %.*s", valkey ? "valkey" : "redis",
                 (int)strcspn(version, "\r\n"), version);
    freeReplyObject(reply);
}
