/* SPDX-License-Identifier: MIT */
#include "load/strategy.h"

#include "redispp/redispp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 1000000u
#define PAUSE_US_MAX 1000000u
#define HOMES_MAX 8u
#define SLEEPERS_MAX 1000u

static const char *const mode_names[] = {
    [MODE_CALLBACK] = "callback",
    [MODE_SYNC] = "sync",
    [MODE_BORROWED] = "borrowed",
    [MODE_QUEUE] = "queue",
    [MODE_LEASE] = "lease",
    [MODE_BESIDE] = "beside",
    [MODE_MIXED] = "mixed",
    [MODE_EXPLICIT] = "explicit",
    [MODE_POOL] = "pool",
    [MODE_COLLECTOR] = "collector",
    [MODE_MUTEX] = "mutex",
    [MODE_REDISPP] = "redispp",
    [MODE_RAW] = "raw",
    [MODE_PUBLISH] = "publish",
    [MODE_SUBSCRIBE] = "subscribe",
    [MODE_MAILBOX] = "mailbox",
    [MODE_LISTEN] = "listen",
};

static bool has_depth(bench_mode_t mode)
{
    return mode == MODE_EXPLICIT || mode == MODE_RAW;
}

static bool has_sleepers(bench_mode_t mode)
{
    return mode == MODE_SUBSCRIBE || mode == MODE_MAILBOX;
}

bool strategy_is_shoal(const strategy_t *strategy)
{
    return strategy->mode <= MODE_MIXED;
}

bool strategy_has_tls(const strategy_t *strategy)
{
    return strategy->mode != MODE_RAW && strategy->mode != MODE_EXPLICIT &&
           strategy->mode != MODE_REDISPP;
}

bool strategy_has_messages(const strategy_t *strategy)
{
    return strategy->mode >= MODE_PUBLISH;
}

bool strategy_receives(const strategy_t *strategy)
{
    return strategy->mode >= MODE_SUBSCRIBE;
}

bool strategy_is_available(const strategy_t *strategy)
{
    return strategy->mode != MODE_REDISPP || redispp_open != NULL;
}

bool strategy_can_pop(const strategy_t *strategy)
{
    return strategy->mode == MODE_CALLBACK || strategy->mode == MODE_SYNC ||
           strategy->mode == MODE_LEASE || strategy->mode == MODE_POOL;
}

bool strategy_has_beside_rate(const strategy_t *strategy)
{
    return strategy->mode == MODE_CALLBACK || strategy->mode == MODE_SYNC ||
           strategy->mode == MODE_MIXED;
}

bool strategy_can_be_beside_large(const strategy_t *strategy)
{
    return strategy->mode == MODE_CALLBACK || strategy->mode == MODE_BESIDE ||
           strategy->mode == MODE_SYNC || strategy->mode == MODE_POOL;
}

bool strategy_has_open_loop(const strategy_t *strategy)
{
    return strategy->mode == MODE_CALLBACK || strategy->mode == MODE_SYNC ||
           strategy->mode == MODE_LEASE || strategy->mode == MODE_BESIDE ||
           strategy->mode == MODE_POOL || strategy->mode == MODE_COLLECTOR ||
           strategy->mode == MODE_MUTEX || strategy->mode == MODE_REDISPP ||
           strategy_has_messages(strategy);
}

/* A whole number of 1 .. max, and nothing behind it. */
static int parse_number(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end;
    if (*text < '0' || *text > '9')
        return -1;
    unsigned long long number = strtoull(text, &end, 10);
    if (*end != '\0' || number == 0 || number > max)
        return -1;
    *ret_number = number;
    return 0;
}

/* What the number behind a mode says. */
static int parse_depth(strategy_t *strategy, bench_mode_t mode, const char *depth)
{
    if (has_depth(mode))
        return parse_number(depth, DEPTH_MAX, &strategy->depth);
    if (has_sleepers(mode))
        return parse_number(depth, SLEEPERS_MAX, &strategy->sleepers);
    return mode > MODE_MIXED ? -1 : parse_number(depth, HOMES_MAX, &strategy->homes);
}

int strategy_parse_mode(strategy_t *strategy, const char *text)
{
    size_t bytes = strcspn(text, ":");
    const char *depth = text[bytes] == ':' ? text + bytes + 1 : NULL;

    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++) {
        if (strlen(mode_names[i]) != bytes || memcmp(text, mode_names[i], bytes) != 0)
            continue;
        bench_mode_t mode = (bench_mode_t)i;
        strategy->homes = strategy->sleepers = 0;
        if (depth ? parse_depth(strategy, mode, depth) < 0 : has_depth(mode))
            return -1;
        strategy->mode = mode;
        return 0;
    }
    return -1;
}

static int parse_flush(strategy_t *strategy, const char *text)
{
    if (strcmp(text, "auto") == 0)
        strategy->flush = SHOAL_FLUSH_AUTO;
    else if (strcmp(text, "off") == 0)
        strategy->flush = SHOAL_FLUSH_OFF;
    else if (strncmp(text, "fixed:", 6) == 0 &&
             parse_number(text + 6, PAUSE_US_MAX, &strategy->pause_us) == 0)
        strategy->flush = SHOAL_FLUSH_FIXED;
    else
        return -1;
    return 0;
}

static int parse_integrity(strategy_t *strategy, const char *text)
{
    static const char *const names[] = {[SHOAL_INTEGRITY_SHAPES] = "shapes",
                                        [SHOAL_INTEGRITY_DETECT] = "detect",
                                        [SHOAL_INTEGRITY_STRICT] = "strict"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], text) != 0)
            continue;
        strategy->integrity = (shoal_integrity_t)i;
        strategy->has_integrity = strategy->integrity != SHOAL_INTEGRITY_DETECT;
        return 0;
    }
    return -1;
}

static int parse_lane(strategy_t *strategy, const char *text)
{
    if (strcmp(text, "lane") == 0)
        strategy->lane = STRATEGY_LANE_ON;
    else if (strcmp(text, "nolane") == 0)
        strategy->lane = STRATEGY_LANE_OFF;
    else
        return -1;
    return 0;
}

static int parse_plain(strategy_t *strategy, const char *text)
{
    strategy->is_plain = strcmp(text, "plain") == 0;
    return strategy->is_plain ? 0 : -1;
}

static int parse_standalone(strategy_t *strategy, const char *text)
{
    strategy->is_standalone = strcmp(text, "standalone") == 0;
    return strategy->is_standalone ? 0 : -1;
}

/* Words with slashes between, at most one of each kind, in this order. */
int strategy_parse_flush(strategy_t *strategy, const char *text)
{
    static int (*const kinds[])(strategy_t *, const char *) = {
        parse_flush, parse_integrity, parse_lane, parse_plain, parse_standalone};
    size_t kind = 0;

    for (;;) {
        char word[32] = "";
        size_t bytes = strcspn(text, "/");
        if (bytes >= sizeof word)
            return -1;
        memcpy(word, text, bytes);
        while (kind < sizeof kinds / sizeof *kinds && kinds[kind](strategy, word) < 0)
            kind++;
        if (kind++ == sizeof kinds / sizeof *kinds)
            return -1;
        if (text[bytes] == '\0')
            return 0;
        text += bytes + 1;
    }
}

int strategy_parse(strategy_t *strategy, const strategy_t *base, const char *text,
                   const char **ret_problem)
{
    char mode[32];
    size_t bytes = strcspn(text, "+");
    const char *flush = text[bytes] == '+' ? text + bytes + 1 : NULL;

    *strategy = *base;
    *ret_problem =
        "expected callback, sync, borrowed, queue, lease, beside, mixed, pool, "
        "collector, "
        "mutex, redispp, explicit:N, raw:N, publish, subscribe, mailbox, listen, auto, "
        "off, fixed:US, shapes, detect, "
        "strict, lane, "
        "nolane, plain, standalone, "
        "FLUSH/INTEGRITY/LANE/plain/standalone or MODE+FLUSH";
    if (bytes >= sizeof mode)
        return -1;
    memcpy(mode, text, bytes);
    mode[bytes] = '\0';

    if (strategy_parse_mode(strategy, mode) < 0) {
        if (flush || strategy_parse_flush(strategy, mode) < 0)
            return -1;
        *ret_problem = "a flush setting needs --mode callback, sync, borrowed or queue";
        return strategy_is_shoal(strategy) ? 0 : -1;
    }
    if (!flush)
        return 0;
    if (!strategy_is_shoal(strategy))
        return -1;
    return strategy_parse_flush(strategy, flush);
}

void strategy_mode_name(const strategy_t *strategy, char *text, size_t text_bytes)
{
    const char *name = mode_names[strategy->mode];
    uint64_t number = has_depth(strategy->mode) ? strategy->depth
                      : strategy->homes > 1     ? strategy->homes
                                                : strategy->sleepers;

    if (number > 0)
        snprintf(text, text_bytes, "%s:%llu", name, (unsigned long long)number);
    else
        snprintf(text, text_bytes, "%s", name);
}

void strategy_flush_name(const strategy_t *strategy, char *text, size_t text_bytes)
{
    static const char *const lanes[] = {[STRATEGY_LANE_DEFAULT] = "",
                                        [STRATEGY_LANE_ON] = "/lane",
                                        [STRATEGY_LANE_OFF] = "/nolane"};
    char flush[32] = "auto";

    *text = '\0';
    if (!strategy_is_shoal(strategy))
        return;
    if (strategy->flush == SHOAL_FLUSH_OFF)
        snprintf(flush, sizeof flush, "off");
    else if (strategy->flush == SHOAL_FLUSH_FIXED)
        snprintf(flush, sizeof flush, "fixed:%llu",
                 (unsigned long long)strategy->pause_us);
    snprintf(text, text_bytes, "%s%s%s%s%s", flush,
             !strategy->has_integrity                        ? ""
             : strategy->integrity == SHOAL_INTEGRITY_STRICT ? "/strict"
                                                             : "/shapes",
             lanes[strategy->lane], strategy->is_plain ? "/plain" : "",
             strategy->is_standalone ? "/standalone" : "");
}

void strategy_name(const strategy_t *strategy, char *text, size_t text_bytes)
{
    char mode[40];
    char flush[40];

    strategy_mode_name(strategy, mode, sizeof mode);
    strategy_flush_name(strategy, flush, sizeof flush);
    snprintf(text, text_bytes, "%s%s%s", mode, *flush ? " " : "", flush);
}
