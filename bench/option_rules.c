/* SPDX-License-Identifier: MIT */
#include "option_rules.h"

#include "fault_proxy/fault_spec.h"
#include "profile/profile.h"
#include "server/cluster.h"

#include <stdlib.h>
#include <string.h>

#define DAY_US 86400000000u
#define VALUE_BYTES_MAX 536870912u

static const char *set_url(options_t *options, const char *text)
{
    const char *problem;
    options->is_private = false;
    return target_set_url(&options->target, text, &problem) < 0 ? problem : NULL;
}

static const char *set_host(options_t *options, const char *text)
{
    options->is_private = false;
    target_set_text(&options->target.socket_path, NULL);
    return target_set_text(&options->target.host, text) < 0 ? "out of memory" : NULL;
}

static const char *set_port(options_t *options, const char *text)
{
    char *end;
    long port = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || port < 1 || port > 65535)
        return "expected 1 .. 65535";
    options->is_private = false;
    target_set_text(&options->target.socket_path, NULL);
    options->target.port = (int)port;
    return NULL;
}

static const char *set_socket(options_t *options, const char *text)
{
    options->is_private = false;
    return target_set_text(&options->target.socket_path, text) < 0 ? "out of memory"
                                                                   : NULL;
}

static const char *set_mode(options_t *options, const char *text)
{
    return strategy_parse_mode(&options->strategies[0], text) < 0
               ? "expected callback, sync, borrowed, queue, lease, beside, mixed, "
                 "pool, "
                 "collector, mutex, redispp, explicit:N, raw:N, publish, subscribe, "
                 "mailbox or listen"
               : NULL;
}

static const char *set_flush(options_t *options, const char *text)
{
    return strategy_parse_flush(&options->strategies[0], text) < 0
               ? "expected auto, off or fixed:US with 1 .. 1000000 microseconds, "
                 "perhaps "
                 "with /shapes, /detect or /strict"
               : NULL;
}

static const char *set_resp(options_t *options, const char *text)
{
    if (strcmp(text, "2") != 0 && strcmp(text, "3") != 0)
        return "expected 2 or 3";
    options->target.resp = text[0] - '0';
    return NULL;
}

static const char *set_link(options_t *options, const char *text)
{
    const char *problem = fault_spec_parse(text, &options->link);

    if (!problem && !fault_spec_is_lossless(&options->link))
        problem = "expected nothing but delay_us, jitter_us, bytes_per_s and chunk";
    options->link_text = text;
    return problem;
}

static const char *set_arrivals(options_t *options, const char *text)
{
    options->is_random = strcmp(text, "random") == 0;
    options->has_arrivals = true;
    return options->is_random || strcmp(text, "even") == 0 ? NULL
                                                           : "expected even or random";
}

static const char *set_profile(options_t *options, const char *text)
{
    options->profile = profile_find(text);
    return options->profile ? NULL
                            : "expected demo, sweep, rate, latency, matrix, step, "
                              "threads, mixed, ladder or cluster";
}

static const char *set_flushes(options_t *options, const char *text)
{
    strategy_list_t *list = &options->flushes;

    list->count = 0;
    for (;;) {
        char element[32] = "";
        size_t bytes = strcspn(text, ",");
        if (list->count == OPTIONS_LIST_MAX)
            return "too many";
        strategy_t *strategy = &list->strategies[list->count++];
        *strategy = (strategy_t){0};
        if (bytes < sizeof element)
            memcpy(element, text, bytes);
        if (strategy_parse_flush(strategy, element) < 0)
            return "expected auto, off or fixed:US, with commas between";
        if (text[bytes] == '\0')
            return NULL;
        text += bytes + 1;
    }
}

/* Two whole numbers with `mark` between. */
static bool read_pair(const char *text, char mark, uint64_t *ret_first,
                      uint64_t *ret_second)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *ret_first = strtoull(text, &end, 10);
    if (*end != mark || end[1] < '0' || end[1] > '9')
        return false;
    *ret_second = strtoull(end + 1, &end, 10);
    return *end == '\0';
}

static const char *set_data_range(options_t *options, const char *text)
{
    uint64_t *least = &options->value_bytes;
    uint64_t *most = &options->value_bytes_max;

    return read_pair(text, '-', least, most) && *least >= 1 && *least <= *most &&
                   *most <= VALUE_BYTES_MAX
               ? NULL
               : "expected A-B, 1 <= A <= B <= 536870912";
}

static const char *set_ratio(options_t *options, const char *text)
{
    return read_pair(text, ':', &options->sets, &options->gets) &&
                   options->sets <= 1000000 && options->gets <= 1000000 &&
                   options->sets + options->gets > 0
               ? NULL
               : "expected SETS:GETS, for example 1:10";
}

static const char *set_key_pattern(options_t *options, const char *text)
{
    return key_pattern_parse(text, &options->key_pattern) == 0
               ? NULL
               : "expected uniform, sequential, gaussian or zipf";
}

/* clang-format off */
#define AT(field) offsetof(options_t, field)
#define CALL(apply) RULE_CALL, 0, 0, 0, apply
#define WHOLE(field, min, max) RULE_WHOLE, AT(field), min, max, NULL
#define NUMBERS(field, min, max) RULE_NUMBERS, AT(field), min, max, NULL
#define TEXT(field) RULE_TEXT, AT(field), 0, 0, NULL
#define COPY(field) RULE_COPY, AT(field), 0, 0, NULL
#define FLAG(field) RULE_SET, AT(field), 0, 0, NULL
#define HEADING(text) {0, NULL, NULL, RULE_HEADING, 0, 0, 0, NULL, text}

const rule_t option_rules[] = {
    HEADING("The server"),
    {'u', "url", "URL", CALL(set_url), "redis://[[user]:password@]host[:port][/db], rediss://..., unix://..., or a node of a cluster, redis+cluster://..."},
    {'h', "host", "HOST", CALL(set_host), "the server's name or address [127.0.0.1]"},
    {'p', "port", "PORT", CALL(set_port), "its port [6379]"},
    {'s', "socket", "PATH", CALL(set_socket), "its Unix socket"},
    {'a', "password", "PASSWORD", COPY(target.password), "authenticate"},
    {0, "user", "USER", COPY(target.user), "as this user [the default user]"},
    {0, "resp", "2|3", CALL(set_resp), "protocol [3]"},
    {0, "tcp", NULL, FLAG(is_tcp),
     "reach the private server by TCP on 127.0.0.1, not by a Unix socket; the profiles"
     " threads, mixed and ladder measure both if neither is asked for"},
    {0, "unix", NULL, FLAG(is_unix),
     "reach it by a Unix socket, as it is without --tcp in all other profiles"},
    {0, "tls", NULL, FLAG(target.is_tls),
     "speak TLS, as rediss:// does; the private server has certificates of its own, and"
     " for the flush setting plain a port without TLS"},
    {0, "ca", "FILE", COPY(target.tls.ca_file),
     "authorities that a named server's certificate is checked with [the system's]"},
    {0, "cert", "FILE", COPY(target.tls.cert_file), "a certificate of ours, for a server that asks"},
    {0, "key", "FILE", COPY(target.tls.key_file), "its private key"},
    {0, "tls-name", "NAME", COPY(target.tls.server_name),
     "the name in the server's certificate [its host]"},
    {0, "sentinel", "NAME", COPY(target.sentinel),
     "host and port are those of a sentinel; measure the primary that it calls NAME, for"
     " which shoal's clients ask the sentinel themselves"},
    {0, "cluster", NULL, FLAG(target.is_cluster),
     "host and port are those of a node of a cluster; without a server, start a private"
     " cluster, and for the flush setting standalone one server beside it"},
    {0, "nodes", "N", WHOLE(nodes, 1, CLUSTER_PRIMARIES_MAX),
     "primaries of the private cluster [3]"},
    {0, "replicas", "N", WHOLE(replicas, 0, CLUSTER_REPLICAS_MAX),
     "of each of them [0]"},
    {0, "rtt", "US", WHOLE(rtt_us, 0, 10000000),
     "a delay proxy of ours adds this round trip, half each way [0]"},
    {0, "link", "SPEC", CALL(set_link),
     "the proxy is a link that is slow or uneven, each way: KEY=NUMBER,... with"
     " bytes_per_s, delay_us, jitter_us (up to so much longer) and chunk (bytes of a write)"},

    HEADING("The load"),
    {'c', "callers", "N", WHOLE(callers, 1, OPTIONS_CALLERS_MAX),
     "concurrent callers; each waits for its reply, then sends the next; with --rate,"
     " the most commands that can be under way [128]"},
    {'n', "requests", "N", WHOLE(requests, 1, UINT64_MAX / 2),
     "end a round after so many commands"},
    {0, "duration", "SECONDS", RULE_SECONDS, AT(duration_us), 10000, DAY_US, NULL,
     "end a round after so long, if there is no -n [5]"},
    {0, "warmup", "SECONDS", RULE_SECONDS, AT(warmup_us), 0, DAY_US, NULL,
     "load before each round that is not counted [1]"},
    {0, "rounds", "N", WHOLE(rounds, 1, 1000),
     "measure so often; the table shows medians [1]"},
    {0, "rate", "N", WHOLE(rate, 1, 100000000),
     "open loop: N commands per second, however fast replies come; latency counts"
     " from the intended moment"},
    {0, "arrivals", "HOW", CALL(set_arrivals),
     "of --rate: even, or random, a Poisson process [even]"},
    {0, "pushes", "N", WHOLE(pushes, 1, 1000000),
     "each caller waits in BLPOP for the elements of a list, of which a thread of the"
     " bench pushes N per second; latency counts from the push; with --rate only the"
     " callers beside it wait"},
    {0, "beside-rate", "N", WHOLE(beside_rate, 1, 100000000),
     "of mixed: N callbacks per second on the client of the threads; with sync the threads"
     " alone, with callback the callbacks alone"},
    {0, "window", "N", WHOLE(window, 0, 100000000),
     "of subscribe, mailbox and listen in a closed loop: so many messages are published and"
     " not received yet; 0: the publisher does not wait for its receivers [8192]; with publish"
     " it is for receivers that write a byte to our standard input for every 1024 messages [0]"},
    {0, "large", "BYTES", WHOLE(large_bytes, 1, VALUE_BYTES_MAX),
     "two callers beside those of --rate write and read values of so many bytes, on the"
     " same client; with pool each has a connection of its own"},
    {'t', "threads", "N", WHOLE(threads, 1, 64),
     "threads of queue, explicit, raw, and of the generator of --rate; sync, lease, pool,"
     " collector, mutex and redispp have one for each caller, callback and borrowed one for each connection"
     " [1]"},
    {0, "connections", "N", WHOLE(connections, 1, OPTIONS_CONNECTIONS_MAX),
     "clients of shoal's modes, which share the callers; connections of explicit [1]"},

    HEADING("How commands get there"),
    {0, "mode", "MODE", CALL(set_mode),
     "callback|sync|borrowed|queue|lease|beside|mixed (shoal; :K behind it gives a client K"
     " connections), pool|collector|mutex|explicit:N"
     " (hiredis), redispp (redis-plus-plus, where it is installed), raw:N (the limit), or what receives messages that a process of the bench publishes:"
     " subscribe|mailbox (shoal; :N behind it adds N subscriptions whose mailboxes nobody"
     " empties), listen (hiredis); publish (shoal) does that alone [callback]"},
    {0, "flush", "FLUSH", CALL(set_flush), "auto|off|fixed:US [auto], perhaps with /shapes|/detect|/strict [/detect], perhaps with /lane|/nolane, a bulk lane or none [the library's choice], perhaps with /plain, no TLS, or /standalone, one server beside the private cluster"},
    {0, "budget", "US", WHOLE(budget_us, 0, 1000000),
     "latency budget of --flush auto; 0: the library's default [0]"},
    {0, "against", "LIST", TEXT(against),
     "measure these too, interleaved round by round: modes, flush settings of the"
     " mode above, or MODE+FLUSH; for example raw:128,pool,off,fixed:100"},

    HEADING("The commands"),
    {'d', "data", "BYTES", WHOLE(value_bytes, 1, VALUE_BYTES_MAX),
     "size of __data__ [16]"},
    {0, "data-range", "A-B", CALL(set_data_range), "a random size of __data__"},
    {'r', "keyspace", "N", WHOLE(keyspace, 1, 1000000000000),
     "__key__ and __rand_int__ are random below N [always 0; of a cluster, 100000]"},
    {0, "key-pattern", "P", CALL(set_key_pattern),
     "which: uniform, sequential, gaussian (around the middle) or zipf (low ones often)"
     " [uniform]"},
    {0, "ratio", "SETS:GETS", CALL(set_ratio),
     "a random mix of the command, a SET, and the GET of such keys"},
    {0, "seed", "N", WHOLE(seed, 0, UINT64_MAX / 2), "of the random numbers [1]"},
    {0, "verify", NULL, FLAG(is_verified),
     "compare every reply with what it must be (GET, ECHO, SET, PING)"},

    HEADING("The machine"),
    {0, "server-cpu", "N", WHOLE(server_cpu, 0, 1023),
     "pin the private server [the last CPU, with two or more]"},
    {0, "client-cpu", "N", WHOLE(client_cpu, 0, 1023),
     "pin ourselves [the first CPU, if the private server is pinned]"},
    {0, "publisher-cpu", "N", WHOLE(publisher_cpu, 0, 1023),
     "pin the process that publishes [the private server's]"},
    {0, "no-pin", NULL, RULE_CLEAR, AT(is_pinned), 0, 0, NULL, "pin nothing"},

    HEADING("Ready sets of measurements"),
    {0, "profile", "NAME", CALL(set_profile),
     "demo, half a minute that shows what shoal is for; sweep, callers x flush settings"
     " x round trips; rate, open loops; latency, a lone caller; matrix, callers x"
     " explicit pipelines; step, callers that come and go; threads, blocking calls"
     " against a connection for each thread; mixed, threads beside callbacks on one client;"
     " ladder, threads that come and go; cluster, a private cluster against one server"},
    {0, "callers-list", "LIST", NUMBERS(callers_list, 1, OPTIONS_CALLERS_MAX),
     "restrict sweep, matrix, threads and cluster to these; the threads of ladder, one"
     " after the other"},
    {0, "rates", "LIST", NUMBERS(rates, 1, 100000000), "restrict rate to these"},
    {0, "rtts", "LIST", NUMBERS(rtts, 0, 10000000),
     "the added round trips of sweep, latency, threads, mixed and ladder, in microseconds"},
    {0, "flushes", "LIST", CALL(set_flushes),
     "the flush settings of sweep, rate, step, threads, ladder and cluster, for example off,fixed:100,auto"},
    {0, "batches", "LIST", NUMBERS(batches, 1, 100000), "restrict matrix to these"},
    {0, "strict", NULL, FLAG(is_strict),
     "exit code 1 if a verdict of the profile fails"},

    HEADING("Results"),
    {0, "json", "FILE", TEXT(json_path),
     "write everything there, for bench/report/report.py and compare.py; - is standard"
     " output"},
    {0, "hdr", "FILE", TEXT(hdr_path),
     "write the distribution of the latency in microseconds, as HdrHistogram's tools"
     " read it; with several runs, one FILE.N each"},
    {0, "csv", NULL, FLAG(is_csv), "lines of CSV instead of the table"},
    {'v', "verbose", NULL, FLAG(is_verbose), "profiles say why each batch left, too"},
    {'q', "quiet", NULL, FLAG(is_quiet), "the table alone"},
    {0, "help", NULL, FLAG(wants_help), "this text"},
    {0, "version", NULL, FLAG(wants_version), "the version"},
};
/* clang-format on */

const size_t option_rules_count = sizeof option_rules / sizeof *option_rules;
