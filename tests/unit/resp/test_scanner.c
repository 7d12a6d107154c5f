/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "resp/scanner.h"

#define WIRE(text) text, sizeof text - 1
#define FRAMES_MAX 8

/* clang-format off */
static const struct whole_case {
    const char *name, *wire;
    size_t wire_bytes;
    size_t ends[FRAMES_MAX]; /* where frames end; 0: no more */
} whole_cases[] = {
    {"nothing",                 WIRE(""),                                  {0}},
    {"a status",                WIRE("+OK\r\n"),                           {5}},
    {"an empty line",           WIRE("+\r\n-\r\n"),                        {3, 6}},
    {"a CR in a line",          WIRE("+a\rb\r\r\n:1\r\n"),                 {7, 11}},
    {"one line of each type",   WIRE("+a\r\n-b\r\n:1\r\n,1.5\r\n_\r\n#t\r\n(9\r\n"),
                                {4, 8, 12, 18, 21, 25, 29}},
    {"a string",                WIRE("$3\r\nabc\r\n"),                     {9}},
    {"an empty string",         WIRE("$0\r\n\r\n"),                        {6}},
    {"a null string",           WIRE("$-1\r\n*-1\r\n"),                    {5, 10}},
    {"a string of line ends",   WIRE("$4\r\n\r\n\r\n\r\n"),                {10}},
    {"a verbatim string",       WIRE("=7\r\ntxt:abc\r\n"),                 {13}},
    {"an empty array",          WIRE("*0\r\n"),                            {4}},
    {"an array",                WIRE("*2\r\n:1\r\n$1\r\na\r\n"),           {15}},
    {"nested arrays",           WIRE("*2\r\n*1\r\n*0\r\n*1\r\n+a\r\n+z\r\n"), {20, 24}},
    {"a map has pairs",         WIRE("%2\r\n+a\r\n:1\r\n+b\r\n:2\r\n"),    {20}},
    {"a set",                   WIRE("~1\r\n+a\r\n"),                      {8}},
    {"a push",                  WIRE(">2\r\n+a\r\n+b\r\n+OK\r\n"),         {12, 17}},
    {"an attribute by itself",  WIRE("|1\r\n+k\r\n+v\r\n:1\r\n"),          {12, 16}},
    {"a null in an array",      WIRE("*3\r\n$-1\r\n_\r\n*-1\r\n"),         {17}},
    {"one frame and a part",    WIRE("+OK\r\n*2\r\n:1\r\n"),               {5}},
    {"a length without its end", WIRE("$3\r"),                             {0}},
    {"a string without its end", WIRE("$3\r\nabc\r"),                      {0}},
};

#define BROKEN SHOAL__SCAN_BROKEN
#define TOO_LARGE SHOAL__SCAN_TOO_LARGE

static const struct broken_case {
    const char *name, *wire;
    size_t wire_bytes;
    shoal__scan_t scan;
    bool is_mid_reply; /* and stays so */
} broken_cases[] = {
    {"no type",               WIRE("x\r\n"),                    BROKEN, false},
    {"a blank line",          WIRE("\r\n"),                     BROKEN, false},
    {"streamed string",       WIRE("$?\r\n"),                   BROKEN, true},
    {"streamed array",        WIRE("*?\r\n"),                   BROKEN, true},
    {"a chunk",               WIRE(";4\r\n"),                   BROKEN, false},
    {"no length",             WIRE("$\r\n"),                    BROKEN, true},
    {"length below -1",       WIRE("$-2\r\n"),                  BROKEN, true},
    {"blank in a length",     WIRE("$ 3\r\n"),                  BROKEN, true},
    {"too many digits",       WIRE("$1234567890123456789\r\n"), BROKEN, true},
    {"longer than allowed",   WIRE("$1001\r\n"),                TOO_LARGE, true},
    {"much too long",         WIRE("$999999999999999999\r\n"),  TOO_LARGE, true},
    {"too long together",     WIRE("*2\r\n$600\r\n"),           TOO_LARGE, true}, /* continued by the test */
    {"a push too large",      WIRE(">1\r\n$1001\r\n"),         TOO_LARGE, false},
    {"too many nested",       WIRE("*1\r\n*1\r\n$1001\r\n"),   TOO_LARGE, true},
    {"junk in an array",      WIRE("*1\r\nx\r\n"),              BROKEN, true},
};
/* clang-format on */

#define BYTES_MAX 1000

/* The frames of a wire that comes in pieces of `piece` bytes. */
static void check_whole(const struct whole_case *c, size_t piece)
{
    shoal__scanner_t scanner;
    size_t count = 0, begin = 0;

    shoal__scanner_init(&scanner, BYTES_MAX);
    for (size_t bytes = 0; bytes <= c->wire_bytes; bytes += piece) {
        shoal__scan_t scan;
        while ((scan = shoal__scanner_next(&scanner, c->wire, bytes)) ==
               SHOAL__SCAN_FRAME) {
            if (scanner.end != c->ends[count])
                fail_msg("%s, pieces of %zu: frame %zu ends at %zu", c->name, piece,
                         count, scanner.end);
            assert_int_equal(scanner.begin, begin);
            assert_int_equal(scanner.type, c->wire[begin]);
            begin = scanner.end;
            count++;
        }
        if (scan != SHOAL__SCAN_MORE)
            fail_msg("%s: broken", c->name);
        if (bytes < c->wire_bytes && bytes + piece > c->wire_bytes)
            bytes = c->wire_bytes - piece;
    }
    if (c->ends[count] != 0)
        fail_msg("%s, pieces of %zu: %zu frames", c->name, piece, count);
}

static void test_frames_are_found_however_they_come(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof whole_cases / sizeof *whole_cases; i++)
        for (size_t piece = 1; piece <= whole_cases[i].wire_bytes + 1; piece++)
            check_whole(&whole_cases[i], piece);
}

static void test_what_is_no_resp_is_broken(void **state)
{
    static char wire[4096];

    (void)state;
    for (size_t i = 0; i < sizeof broken_cases / sizeof *broken_cases; i++) {
        const struct broken_case *c = &broken_cases[i];
        shoal__scanner_t scanner;
        size_t bytes = c->wire_bytes;

        shoal__scanner_init(&scanner, BYTES_MAX);
        memcpy(wire, c->wire, bytes);
        if (strncmp(c->wire, "*2\r\n$600", 8) == 0) {
            memset(wire + bytes, 'x', 600);
            memcpy(wire + bytes + 600, "\r\n$600\r\n", 8);
            bytes += 608;
        }
        if (shoal__scanner_next(&scanner, wire, bytes) != c->scan)
            fail_msg("%s is not found to be so", c->name);
        if (shoal__scanner_is_mid_reply(&scanner) != c->is_mid_reply)
            fail_msg("%s: whose is it?", c->name);
    }
}

static void test_a_line_has_a_bound(void **state)
{
    static char wire[70000];
    shoal__scanner_t scanner;
    size_t bytes = 0;

    (void)state;
    memset(wire, 'x', sizeof wire);
    wire[0] = ':';
    shoal__scanner_init(&scanner, UINT64_MAX);
    while (bytes < sizeof wire &&
           shoal__scanner_next(&scanner, wire, bytes) == SHOAL__SCAN_MORE)
        bytes += 100;
    assert_in_range(bytes, 65536, 65800);

    /* Text has the frame's. */
    wire[0] = '+';
    shoal__scanner_init(&scanner, UINT64_MAX);
    assert_int_equal(shoal__scanner_next(&scanner, wire, sizeof wire),
                     SHOAL__SCAN_MORE);

    /* The bound of a frame holds for one that is not whole, too. */
    shoal__scanner_init(&scanner, BYTES_MAX);
    assert_int_equal(shoal__scanner_next(&scanner, wire, BYTES_MAX), SHOAL__SCAN_MORE);
    assert_int_equal(shoal__scanner_next(&scanner, wire, BYTES_MAX + 1),
                     SHOAL__SCAN_TOO_LARGE);
    assert_true(shoal__scanner_is_mid_reply(&scanner));

    /* And for one that is. */
    memcpy(wire + BYTES_MAX, "\r\n", 2);
    shoal__scanner_init(&scanner, BYTES_MAX);
    assert_int_equal(shoal__scanner_next(&scanner, wire, BYTES_MAX + 2),
                     SHOAL__SCAN_TOO_LARGE);
    assert_true(shoal__scanner_is_mid_reply(&scanner));
}

static void test_what_is_a_reply_under_way(void **state)
{
    static const struct {
        const char *wire;
        bool is_mid_reply;
    } cases[] = {{"", false},         {"+OK\r\n", false}, {"+", true},
                 {"$5\r\nhel", true}, {"*1\r\n", true},   {"*1\r\n$5\r\nhel", true},
                 {"+OK\r\n:1", true}, {">1\r\n", false},  {">1\r\n$5\r\nhel", false},
                 {"|1\r\n+k", false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__scanner_t scanner;
        size_t bytes = strlen(cases[i].wire);

        shoal__scanner_init(&scanner, BYTES_MAX);
        while (shoal__scanner_next(&scanner, cases[i].wire, bytes) == SHOAL__SCAN_FRAME)
            continue;
        if (shoal__scanner_is_mid_reply(&scanner) != cases[i].is_mid_reply)
            fail_msg("'%s'", cases[i].wire);
    }
}

/* What is before a frame can be dropped while the frame is under way. */
static void test_dropping_keeps_the_frame_under_way(void **state)
{
    static const char wire[] = "+OK\r\n*2\r\n$5\r\nhello\r\n:12\r\n+z\r\n";
    const size_t bytes = sizeof wire - 1;

    (void)state;
    for (size_t seen = 5; seen < bytes - 5; seen++) {
        shoal__scanner_t scanner;
        shoal__scanner_init(&scanner, BYTES_MAX);
        assert_int_equal(shoal__scanner_next(&scanner, wire, seen), SHOAL__SCAN_FRAME);
        assert_int_equal(shoal__scanner_next(&scanner, wire, seen), SHOAL__SCAN_MORE);
        shoal__scanner_drop(&scanner, 5);
        assert_int_equal(shoal__scanner_next(&scanner, wire + 5, bytes - 5),
                         SHOAL__SCAN_FRAME);
        assert_int_equal(scanner.begin, 0);
        assert_int_equal(scanner.end, bytes - 9);
        assert_int_equal(shoal__scanner_next(&scanner, wire + 5, bytes - 5),
                         SHOAL__SCAN_FRAME);
        assert_int_equal(scanner.end, bytes - 5);
    }
}

/* Counts that nobody sends cost nothing and end nowhere. */
static void test_huge_counts(void **state)
{
    static const char wire[] = "*999999999999999999\r\n%999999999999999999\r\n";
    shoal__scanner_t scanner;

    (void)state;
    shoal__scanner_init(&scanner, BYTES_MAX);
    assert_int_equal(shoal__scanner_next(&scanner, wire, sizeof wire - 1),
                     SHOAL__SCAN_MORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_found_however_they_come),
        cmocka_unit_test(test_what_is_no_resp_is_broken),
        cmocka_unit_test(test_a_line_has_a_bound),
        cmocka_unit_test(test_what_is_a_reply_under_way),
        cmocka_unit_test(test_dropping_keeps_the_frame_under_way),
        cmocka_unit_test(test_huge_counts),
    };
    return cmocka_run_group_tests_name("resp/scanner", tests, NULL, NULL);
}
