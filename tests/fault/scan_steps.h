/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_SCAN_STEPS_H
#define SHOAL_TESTS_SCAN_STEPS_H

/* A scan page by page, and what each page must be. */

#include "support/scene.h"

#include <stdatomic.h>
#include <string.h>

#define PAGE_7_A "*2\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n"
#define PAGE_0_B "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n"
#define PAGE_0 "*2\r\n$1\r\n0\r\n*0\r\n"

/* To SCAN with this cursor the server says this page. */
static inline size_t say(fake_server_t *server, const char *cursor, const char *page)
{
    return fake_server_rule(
        server, &(fake_rule_t){.command = "SCAN", .argument = cursor, .reply = page});
}

static inline shoal_scan_t *new_scan(const scene_t *scene)
{
    shoal_scan_t *scan;

    assert_int_equal(shoal_scan_new(scene->client, NULL, &scan), 0);
    return scan;
}

/* What the page holds, one text behind the other. */
static inline void read_page(const shoal_result_t *page, char *ret_text)
{
    const shoal_reply_t *found = shoal_result_reply(page);

    if (shoal_result_error(page))
        fail_msg("%s", shoal_result_error(page));
    assert_int_equal(shoal_reply_type(found), SHOAL_REPLY_ARRAY);
    ret_text[0] = '\0';
    for (size_t i = 0; i < shoal_reply_count(found); i++)
        strcat(ret_text, shoal_reply_string(shoal_reply_at(found, i), &(size_t){0}));
}

static inline void check_next(shoal_scan_t *scan, const char *expected)
{
    shoal_result_t *page;
    char text[64];

    assert_int_equal(shoal_scan_next(scan, 0, &page), 0);
    read_page(page, text);
    assert_string_equal(text, expected);
    shoal_result_release(page);
}

static inline void check_over(shoal_scan_t *scan)
{
    shoal_result_t *page;

    assert_int_equal(shoal_scan_next(scan, 0, &page), 1);
    assert_null(page);
}

static inline void check_status(shoal_scan_t *scan, uint64_t timeout_us, int status)
{
    shoal_result_t *page;

    assert_int_equal(shoal_scan_next(scan, timeout_us, &page), 0);
    assert_int_equal(shoal_result_status(page), status);
    assert_null(shoal_result_reply(page));
    shoal_result_release(page);
}

static inline void check_error(shoal_scan_t *scan, const char *beginning)
{
    shoal_result_t *page;

    assert_int_equal(shoal_scan_next(scan, 0, &page), 0);
    assert_int_equal(shoal_result_status(page), 0);
    assert_non_null(strstr(shoal_result_error(page), beginning));
    shoal_result_release(page);
}

/* ---- callbacks ---- */

typedef struct walk {
    shoal_scan_t *scan;
    char text[64];
    unsigned pages;
    int status;            /* of the last page */
    bool frees;            /* the callback gives the scan back */
    _Atomic unsigned ends; /* 1: over, or a failure */
} walk_t;

static inline void on_page(shoal_client_t *client, const shoal_result_t *page,
                           void *data)
{
    walk_t *walk = data;
    char text[64];
    int rc = 1;
    (void)client;

    if (page) {
        walk->pages++;
        walk->status = shoal_result_status(page);
    }
    if (page && walk->status == 0) {
        read_page(page, text);
        strcat(walk->text, text);
        rc = walk->frees ? 1 : shoal_scan_submit(walk->scan, 0, on_page, walk);
        assert_true(rc >= 0);
    }
    if (walk->frees)
        shoal_scan_free(walk->scan);
    if (rc == 1)
        walk->ends++;
}

static inline void check_walk(scene_t *scene, walk_t *walk, const char *expected)
{
    walk->scan = new_scan(scene);
    assert_int_equal(shoal_scan_submit(walk->scan, 0, on_page, walk), 0);
    WAIT_FOR(walk->ends == 1);
    assert_int_equal(walk->status, 0);
    assert_string_equal(walk->text, expected);
}

#endif
