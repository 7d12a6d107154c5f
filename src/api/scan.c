/* SPDX-License-Identifier: MIT */
#include <shoal/scan.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/sized.h"
#include "base/time_us.h"
#include "client/client.h"
#include "client/life.h"
#include "core/description.h"
#include "core/scan_rule.h"
#include <inttypes.h>
#include <stdio.h>

#define WORDS_MAX 10 /* of one command */
#define COUNT_BYTES 24

/* Which command it is, and the words behind its cursor. */
struct shoal_scan {
    shoal_client_t *client;
    _Atomic unsigned
        references;         /* the caller's, and that of a page that is asked for */
    _Atomic bool is_asking; /* for a page */
    _Atomic bool is_freed;
    shoal__scan_rule_t rule;

    const char *words[WORDS_MAX]; /* texts of the scan's own, but for the cursor */
    size_t bytes[WORDS_MAX];
    size_t count;
    size_t cursor; /* which word is the cursor */
    char count_text[COUNT_BYTES];

    /* Of the page that is asked for. */
    uint64_t timeout_us, until_us;
    shoal_result_cb on_page;
    void *data;
    char key[SHOAL__SCAN_KEY_BYTES];

    char texts[]; /* key, pattern and type */
};

static const char *const names[] = {
    [SHOAL_SCAN_KEYS] = "SCAN",
    [SHOAL_SCAN_HASH] = "HSCAN",
    [SHOAL_SCAN_SET] = "SSCAN",
    [SHOAL_SCAN_SORTED_SET] = "ZSCAN",
};

/* ---- making one ---- */

static bool read_options(const shoal_scan_options_t *options,
                         shoal_scan_options_t *ret_options)
{
    *ret_options = (shoal_scan_options_t)SHOAL_SCAN_OPTIONS_INIT;
    if (!options)
        return true;
    if (!shoal__sized_is_set(options->size, SHOAL__SCAN_BYTES_MIN, sizeof *options) ||
        !shoal__sized_read(options, ret_options, sizeof *ret_options))
        return false;
    return (unsigned)ret_options->kind < sizeof names / sizeof *names &&
           (ret_options->kind == SHOAL_SCAN_KEYS) == !ret_options->key &&
           (ret_options->kind == SHOAL_SCAN_KEYS || !ret_options->type) &&
           ret_options->count <= INT64_MAX;
}

static void add(shoal_scan_t *scan, const char *word, size_t bytes)
{
    scan->words[scan->count] = word;
    scan->bytes[scan->count++] = bytes;
}

/* Copies the word to *at, which moves on. */
static void add_copy(shoal_scan_t *scan, char **at, const char *word, size_t bytes)
{
    if (bytes > 0)
        memcpy(*at, word, bytes);
    add(scan, *at, bytes);
    *at += bytes;
}

static void add_words(shoal_scan_t *scan, const shoal_scan_options_t *options)
{
    const char *name = names[options->kind];
    char *at = scan->texts;

    add(scan, name, strlen(name));
    if (options->key)
        add_copy(scan, &at, options->key, options->key_bytes);
    scan->cursor = scan->count;
    add(scan, scan->rule.cursor, 0);
    if (options->match) {
        add(scan, "MATCH", 5);
        add_copy(scan, &at, options->match, options->match_bytes);
    }
    if (options->count > 0) {
        int bytes = snprintf(scan->count_text, COUNT_BYTES, "%" PRIu64, options->count);
        add(scan, "COUNT", 5);
        add(scan, scan->count_text, (size_t)bytes);
    }
    if (options->type) {
        add(scan, "TYPE", 4);
        add_copy(scan, &at, options->type, strlen(options->type));
    }
}

/* NULL: no memory. */
static shoal_scan_t *new_scan(shoal_client_t *client,
                              const shoal_scan_options_t *options)
{
    size_t bytes = (options->key ? options->key_bytes : 0) +
                   (options->match ? options->match_bytes : 0) +
                   (options->type ? strlen(options->type) : 0);
    shoal_scan_t *scan = shoal__calloc(1, sizeof *scan + bytes);
    bool is_of_cluster =
        options->kind == SHOAL_SCAN_KEYS && shoal__client_route(client)->goes_by_slot;

    if (!scan || shoal__scan_rule_init(&scan->rule, is_of_cluster) < 0) {
        shoal__free(scan);
        return NULL;
    }
    atomic_init(&scan->references, 1);
    add_words(scan, options);
    shoal__client_retain(client);
    scan->client = client;
    return scan;
}

int shoal_scan_new(shoal_client_t *client, const shoal_scan_options_t *options,
                   shoal_scan_t **ret_scan)
{
    shoal_scan_options_t known;
    int rc;

    if (!ret_scan)
        return SHOAL_EINVAL;
    *ret_scan = NULL;
    rc = shoal__client_check(client);
    if (rc < 0)
        return rc;
    if (!read_options(options, &known))
        return SHOAL_EINVAL;
    *ret_scan = new_scan(client, &known);
    return *ret_scan ? 0 : SHOAL_ENOMEM;
}

static void release(shoal_scan_t *scan)
{
    shoal_client_t *client = scan->client;

    if (atomic_fetch_sub(&scan->references, 1) > 1)
        return;
    shoal__scan_rule_release(&scan->rule);
    shoal__free(scan);
    shoal_client_release(client);
}

void shoal_scan_free(shoal_scan_t *scan)
{
    if (!scan)
        return;
    atomic_store(&scan->is_freed, true);
    release(scan);
}

/* ---- commands ---- */

/* What the rule wants to know. */
typedef struct question {
    shoal_command_t command;
    shoal_call_t call;
    const char *words[2];
    size_t bytes[2];
} question_t;

static void ask_two(question_t *question, const char *one, const char *other)
{
    question->words[0] = one;
    question->words[1] = other;
    question->bytes[0] = strlen(one);
    question->bytes[1] = strlen(other);
    question->command = (shoal_command_t){2, question->words, question->bytes};
}

static void ask_page(shoal_scan_t *scan, question_t *question)
{
    scan->bytes[scan->cursor] = strlen(scan->rule.cursor);
    question->command = (shoal_command_t){scan->count, scan->words, scan->bytes};
    question->call.route_node = shoal__scan_rule_node(&scan->rule);
    if (question->call.route_node)
        question->call.route = SHOAL_ROUTE_NODE;
}

/* Of a scan that is not over. */
static void ask(shoal_scan_t *scan, question_t *question)
{
    uint64_t now_us = scan->until_us == SHOAL__NEVER_US ? 0 : shoal__clock_us();

    question->call = (shoal_call_t)SHOAL_CALL_INIT;
    question->call.flags = SHOAL_CALL_PRIMARY;
    question->call.timeout_us = scan->timeout_us;
    if (scan->until_us !=
        SHOAL__NEVER_US) /* a command of 0 us would have the client's */
        question->call.timeout_us =
            scan->until_us > now_us ? scan->until_us - now_us : 1;
    if (scan->rule.step == SHOAL__SCAN_PAGE) {
        ask_page(scan, question);
    } else if (scan->rule.step == SHOAL__SCAN_FIND) {
        shoal__scan_rule_key(&scan->rule, scan->key);
        ask_two(question, "EXISTS", scan->key);
    } else {
        ask_two(question, "CLUSTER", "NODES");
        question->call.route = SHOAL_ROUTE_PRIMARIES;
    }
}

/* ---- answers ---- */

static void fail(shoal_result_t *page, int status, const char *detail)
{
    page->status = status;
    page->fate = SHOAL_FATE_REPLY_LOST;
    page->reply = NULL;
    page->detail = detail;
}

static bool is_failure(const shoal_result_t *result)
{
    return result->status < 0 || shoal_reply_type(result->reply) == SHOAL_REPLY_ERROR;
}

/* The answer has the next cursor, and what was found. */
static void take_page(shoal__scan_rule_t *rule, shoal_result_t *page)
{
    const shoal_reply_t *found = shoal_reply_at(page->reply, 1);

    if (shoal_reply_type(found) == SHOAL_REPLY_ARRAY &&
        shoal__scan_rule_page(rule, shoal__text_of(shoal_reply_at(page->reply, 0)),
                              page->process))
        page->reply = found;
    else
        fail(page, SHOAL_EDESYNC, "the reply is no cursor and no page");
}

/* True: the caller gets the result, because it tells of a failure. */
static bool take_look(shoal__scan_rule_t *rule, shoal_result_t *result)
{
    shoal__scan_rule_listen(rule);
    for (size_t i = 0; i < shoal_result_parts(result); i++) {
        const shoal_result_t *part = shoal_result_part(result, i);
        if (shoal__scan_rule_hear(rule, shoal_result_node(part),
                                  shoal__text_of(part->reply)) < 0) {
            fail(result, SHOAL_ENOMEM, "no memory for what the nodes said");
            return true;
        }
    }
    shoal__scan_rule_heard(rule);
    if (rule->step != SHOAL__SCAN_LOST)
        return false;
    shoal__scan_rule_found(rule);
    fail(result, SHOAL_ECONN, "no node answers for a slot of the cluster");
    return true;
}

/* SHOAL_TOPOLOGY_AUTO: when the scan was made it was not known that there is one server.  True:
 * the scan is one of that server now. */
static bool forgot_cluster(shoal_scan_t *scan)
{
    if (shoal__client_route(scan->client)->goes_by_slot)
        return false;
    shoal__scan_rule_release(&scan->rule);
    return shoal__scan_rule_init(&scan->rule, false) == 0;
}

/* The answer to the question.  True: it is for the caller, as it is now. */
static bool take(shoal_scan_t *scan, shoal_result_t *result)
{
    shoal__scan_rule_t *rule = &scan->rule;

    switch (rule->step) {
    case SHOAL__SCAN_PAGE:
        if (!is_failure(result)) {
            take_page(rule, result);
            return true;
        }
        shoal__scan_rule_failed(rule);
        /* A node that has left the cluster.  Others have its slots. */
        return !rule->map || result->status != SHOAL_ENOENT;
    case SHOAL__SCAN_LOOK:
        if (is_failure(result))
            return !forgot_cluster(scan);
        return take_look(rule, result);
    case SHOAL__SCAN_FIND:
        if (is_failure(result))
            return true;
        shoal__scan_rule_found(rule);
        return false;
    case SHOAL__SCAN_LOST:
    case SHOAL__SCAN_OVER:
        break;
    }
    return true;
}

/* ---- the caller ---- */

/* 0; 1: the scan is over; or why no page can be asked for. */
static int begin(shoal_scan_t *scan, uint64_t timeout_us)
{
    if (!scan || atomic_exchange(&scan->is_asking, true))
        return SHOAL_EINVAL;
    if (scan->rule.step == SHOAL__SCAN_OVER) {
        atomic_store(&scan->is_asking, false);
        return 1;
    }
    scan->timeout_us = timeout_us;
    scan->until_us = SHOAL__NEVER_US;
    if (timeout_us > 0 && timeout_us != SHOAL_TIMEOUT_NEVER)
        scan->until_us = shoal__time_after(shoal__clock_us(), timeout_us);
    return 0;
}

int shoal_scan_next(shoal_scan_t *scan, uint64_t timeout_us, shoal_result_t **ret_page)
{
    bool is_page = false;
    int rc;

    if (!ret_page)
        return SHOAL_EINVAL;
    *ret_page = NULL;
    rc = begin(scan, timeout_us);
    if (rc != 0)
        return rc;
    while (rc == 0 && !is_page) {
        question_t question;
        ask(scan, &question);
        rc = shoal_client_call_with(scan->client, &question.command, &question.call,
                                    ret_page);
        is_page = rc == 0 && take(scan, *ret_page);
        if (rc == 0 && !is_page) {
            shoal_result_release(*ret_page);
            *ret_page = NULL;
            rc = scan->rule.step == SHOAL__SCAN_OVER;
        }
    }
    atomic_store(&scan->is_asking, false);
    return rc;
}

static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data);

static int submit(shoal_scan_t *scan)
{
    question_t question;

    ask(scan, &question);
    return shoal_client_submit_many(scan->client, &question.command, 1, &question.call,
                                    on_answer, scan, NULL);
}

/* The callback may ask for the next page, or free the scan. */
static void tell(shoal_scan_t *scan, const shoal_result_t *page)
{
    shoal_result_cb on_page = scan->on_page;
    void *data = scan->data;

    atomic_store(&scan->is_asking, false);
    on_page(scan->client, page, data);
    release(scan);
}

static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal_result_t page = *result;
    shoal_scan_t *scan = data;
    int rc = SHOAL_ECANCELLED;

    (void)client;
    if (take(scan, &page)) {
        tell(scan, &page);
        return;
    }
    if (scan->rule.step == SHOAL__SCAN_OVER) {
        tell(scan, NULL);
        return;
    }
    if (!atomic_load(&scan->is_freed))
        rc = submit(scan);
    if (rc == 0)
        return;
    page =
        (shoal_result_t){.status = rc, .fate = SHOAL_FATE_NOT_EXECUTED, .detail = ""};
    tell(scan, &page);
}

int shoal_scan_submit(shoal_scan_t *scan, uint64_t timeout_us, shoal_result_cb on_page,
                      void *data)
{
    int rc;

    if (!on_page)
        return SHOAL_EINVAL;
    rc = begin(scan, timeout_us);
    if (rc != 0)
        return rc;
    scan->on_page = on_page;
    scan->data = data;
    atomic_fetch_add(&scan->references, 1);
    rc = submit(scan);
    if (rc == 0)
        return 0;
    atomic_fetch_sub(&scan->references, 1);
    atomic_store(&scan->is_asking, false);
    return rc;
}
