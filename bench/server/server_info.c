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
    redisReply *reply = control ? redisCommand(control, "INFO") : NULL;
    if (reply && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_VERB))
        return reply;
    freeReplyObject(reply);
    return NULL;
}

void server_info_get(redisContext *control, server_info_t *ret_info)
{
    *ret_info = (server_info_t){0};
    redisReply *reply = ask(control);
    if (!reply)
        return;

    const char *user = find_field(reply->str, "used_cpu_user");
    const char *system = find_field(reply->str, "used_cpu_sys");
    const char *reads = find_field(reply->str, "total_reads_processed");
    if (user && system) {
        ret_info->has_cpu = true;
        ret_info->cpu_ns =
            (uint64_t)((strtod(user, NULL) + strtod(system, NULL)) * 1e9);
    }
    if (reads) {
        ret_info->has_reads = true;
        ret_info->reads = strtoull(reads, NULL, 10);
    }
    freeReplyObject(reply);
}

void server_info_version(redisContext *control, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "unknown");
    redisReply *reply = ask(control);
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
