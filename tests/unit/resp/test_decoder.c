/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "resp/decoder.h"
#include "unit/resp/transcript.h"
#include <shoal/alloc.h>
#include <shoal/errors.h>
#include <stdlib.h>

/* The owner of the decoder: writes down what it gets. */
typedef struct owner {
    transcript_t heard;
    shoal__decoder_target_t target;
    size_t replies, begins;
    size_t stop_at; /* returns false at this reply; 0: never */
    bool is_quiet;  /* counts only */
    bool keeps;
    const shoal_reply_t *kept[64];
    size_t kept_count;
} owner_t;

static owner_t owner;
static shoal__decoder_t *decoder;

static const shoal__decoder_limits_t limits = {
    .bytes_max = 512 << 20, .elements_max = 16777216, .depth_max = 1024};

static shoal__decoder_target_t on_begin(void *data)
{
    owner_t *self = data;

    self->begins++;
    return self->target;
}

static bool on_reply(void *data, const shoal_reply_t *reply, bool is_push)
{
    owner_t *self = data;

    assert_false(shoal__decoder_is_mid_reply(decoder));
    self->replies++;
    if (self->keeps)
        self->kept[self->kept_count++] = shoal_reply_retain(reply);
    if (!self->is_quiet) {
        if (is_push)
            transcript_print(&self->heard, "PUSH ");
        if (reply)
            shoal__reply_to_sink(reply, &transcript_sink, &self->heard);
        transcript_print(&self->heard, "| ");
    }
    return self->replies != self->stop_at;
}

static void open_decoder(const shoal__decoder_limits_t *with)
{
    static const shoal__decoder_hooks_t hooks = {on_begin, on_reply};

    memset(&owner, 0, offsetof(owner_t, heard) + 1);
    owner = (owner_t){.replies = 0};
    assert_int_equal(shoal__decoder_new(&decoder, with, &hooks, &owner), 0);
}

static void close_decoder(void)
{
    shoal__decoder_free(decoder);
    for (size_t i = 0; i < owner.kept_count; i++)
        shoal_reply_release(owner.kept[i]);
}

static int set_up(void **state)
{
    (void)state;
    open_decoder(&limits);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_decoder();
    return 0;
}

static int feed(const char *wire)
{
    return shoal__decoder_feed(decoder, wire, strlen(wire));
}

/* From memory of the exact size, so that a sanitizer sees every look beyond. */
static int feed_piece(const char *data, size_t bytes)
{
    char *piece = malloc(bytes + 1);
    assert_non_null(piece);
    memcpy(piece, data, bytes);
    int rc = shoal__decoder_feed(decoder, piece, bytes);
    free(piece);
    return rc;
}

typedef struct stream {
    const char *name, *wire;
    size_t wire_bytes;
    const char *heard; /* of the whole frames */
} stream_t;

#define WIRE(text) text, sizeof text - 1

/* clang-format off */
static const stream_t streams[] = {
    {"status",          WIRE("+OK\r\n"),                    "+OK | "},
    {"empty status",    WIRE("+\r\n"),                      "+ | "},
    {"error",           WIRE("-ERR no\r\n"),                "-ERR no | "},
    {"integer",         WIRE(":42\r\n"),                    ":42 | "},
    {"smallest integer", WIRE(":-9223372036854775808\r\n"), ":-9223372036854775808 | "},
    {"largest integer", WIRE(":9223372036854775807\r\n"),   ":9223372036854775807 | "},
    {"string",          WIRE("$5\r\nhello\r\n"),            "$hello | "},
    {"string of CR LF", WIRE("$4\r\n\r\n\r\n\r\n"),         "$\r\n\r\n | "},
    {"empty string",    WIRE("$0\r\n\r\n"),                 "$ | "},
    {"RESP2 null",      WIRE("$-1\r\n"),                    "_ | "},
    {"null array",      WIRE("*-1\r\n"),                    "_ | "},
    {"RESP3 null",      WIRE("_\r\n"),                      "_ | "},
    {"double",          WIRE(",1.50\r\n"),                  ",1.50=1.5 | "},
    {"double, exponent", WIRE(",-1e3\r\n"),                 ",-1e3=-1000 | "},
    {"infinity",        WIRE(",inf\r\n"),                   ",inf=inf | "},
    {"minus infinity",  WIRE(",-inf\r\n"),                  ",-inf=-inf | "},
    {"no number",       WIRE(",nan\r\n"),                   ",nan=nan | "},
    {"no number, as a C library writes it", WIRE(",-nan\r\n"), ",-nan=nan | "},
    {"true",            WIRE("#t\r\n"),                     "#1 | "},
    {"false",           WIRE("#f\r\n"),                     "#0 | "},
    {"big number",      WIRE("(-12345678901234567890123\r\n"), "(-12345678901234567890123 | "},
    {"verbatim",        WIRE("=8\r\ntxt:text\r\n"),         "=txt:text | "},
    {"empty verbatim",  WIRE("=4\r\nmkd:\r\n"),             "=mkd: | "},
    {"array",           WIRE("*2\r\n$1\r\na\r\n:1\r\n"),    "[2 $a :1 ] | "},
    {"empty array",     WIRE("*0\r\n"),                     "[0 ] | "},
    {"map",             WIRE("%1\r\n+k\r\n+v\r\n"),         "%[2 +k +v ] | "},
    {"empty map",       WIRE("%0\r\n"),                     "%[0 ] | "},
    {"set",             WIRE("~2\r\n:1\r\n:2\r\n"),         "~[2 :1 :2 ] | "},
    {"nested types",
     WIRE("*13\r\n+OK\r\n-ERR\r\n:-1\r\n$3\r\na\r\n\r\n$0\r\n\r\n$-1\r\n*-1\r\n_\r\n,2.5\r\n"
          "#t\r\n(99\r\n=5\r\ntxt:x\r\n=4\r\ntxt:\r\n"),
     "[13 +OK -ERR :-1 $a\r\n $ _ _ _ ,2.5=2.5 #1 (99 =txt:x =txt: ] | "},
    {"nested aggregates",
     WIRE("*3\r\n%1\r\n+k\r\n~1\r\n:1\r\n*0\r\n*2\r\n%0\r\n*1\r\n*1\r\n*0\r\n"),
     "[3 %[2 +k ~[1 :1 ] ] [0 ] [2 %[0 ] [1 [1 [0 ] ] ] ] ] | "},
    {"several", WIRE("+1\r\n$1\r\n2\r\n*1\r\n+3\r\n*1\r\n+4\r\n+5\r\n"),
     "+1 | $2 | [1 +3 ] | [1 +4 ] | +5 | "},
    {"a top-level attribute is skipped",
     WIRE("|1\r\n+ttl\r\n*1\r\n:3\r\n$1\r\na\r\n|0\r\n:1\r\n"), "$a | :1 | "},
};
/* clang-format on */

/* What the owner hears of a tree it writes down itself, of a sink the sink does. */
static const shoal__decoder_target_t targets[] = {
    {.sink = NULL}, {.sink = &transcript_sink, .sink_data = &owner.heard}};

static void check_stream(const stream_t *s, size_t first_bytes, size_t piece_bytes)
{
    for (size_t i = 0; i < 2; i++) {
        transcript_clear(&owner.heard);
        owner.target = targets[i];
        assert_int_equal(feed_piece(s->wire, first_bytes), 0);
        for (size_t at = first_bytes; at < s->wire_bytes; at += piece_bytes) {
            size_t left = s->wire_bytes - at;
            assert_int_equal(
                feed_piece(s->wire + at, left < piece_bytes ? left : piece_bytes), 0);
        }
        if (strcmp(owner.heard.text, s->heard) != 0)
            fail_msg("%s, %zu then %zu, %s: %s", s->name, first_bytes, piece_bytes,
                     i ? "sink" : "tree", owner.heard.text);
        assert_false(shoal__decoder_is_mid_reply(decoder));
    }
}

static void test_every_type_however_it_is_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        for (size_t split = 0; split <= streams[i].wire_bytes; split++)
            check_stream(&streams[i], split, SIZE_MAX);
        check_stream(&streams[i], 0, 1);
    }
    assert_string_equal(shoal__decoder_error(decoder), "");
}

static void test_pushes_between_replies(void **state)
{
    (void)state;
    static const stream_t s = {
        "pushes",
        WIRE(">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n>1\r\n+x\r\n>0\r\n:1\r\n"), ""};

    for (size_t split = 0; split <= s.wire_bytes; split++) {
        size_t begins = owner.begins;
        transcript_clear(&owner.heard);
        owner.target = targets[1]; /* replies; pushes are trees all the same */
        assert_int_equal(feed_piece(s.wire, split), 0);
        assert_int_equal(feed_piece(s.wire + split, s.wire_bytes - split), 0);
        assert_string_equal(owner.heard.text, "PUSH >[2 +invalidate [1 $k ] ] | +OK | "
                                              "PUSH >[1 +x ] | PUSH >[0 ] | :1 | ");
        assert_int_equal(owner.begins - begins, 2);
    }
}

static void test_attributes_are_counted(void **state)
{
    (void)state;
    assert_int_equal(feed("|1\r\n+a\r\n+b\r\n|0\r\n+OK\r\n|1\r\n+a\r\n"), 0);
    assert_int_equal(shoal__decoder_attributes(decoder), 2);
    assert_int_equal(owner.begins, 1);
    assert_false(shoal__decoder_is_mid_reply(decoder));
}

/* clang-format off */
static const struct refused_case {
    const char *name, *wire;
    size_t wire_bytes;
    const char *heard;
    bool is_mid_reply; /* had the reply begun? */
} refused_cases[] = {
    {"no type",                WIRE("+OK\r\nx\r\n"),              "+OK | ", false},
    {"a blank line",           WIRE("\r\n"),                      "", false},
    {"streamed string",        WIRE("$?\r\n"),                    "", true},
    {"streamed array",         WIRE("*?\r\n"),                    "", true},
    {"length below -1",        WIRE("$-2\r\n"),                   "", true},
    {"count below -1",         WIRE("*-2\r\n"),                   "", true},
    {"negative map",           WIRE("%-1\r\n"),                   "", true},
    {"negative set",           WIRE("~-1\r\n"),                   "", true},
    {"negative push",          WIRE(">-1\r\n"),                   "", false},
    {"negative attribute",     WIRE("|-1\r\n"),                   "", false},
    {"negative verbatim",      WIRE("=-1\r\n"),                   "", true},
    {"no length",              WIRE("$\r\n"),                     "", true},
    {"leading zero",           WIRE("$03\r\nabc\r\n"),            "", true},
    {"blank in a length",      WIRE("$ 3\r\nabc\r\n"),            "", true},
    {"largest length",         WIRE("$9223372036854775807\r\n"),  "", true},
    {"length over 63 bits",    WIRE("$9223372036854775808\r\n"),  "", true},
    {"length over 64 bits",    WIRE("$18446744073709551620\r\n"), "", true},
    {"longer than announced",  WIRE("$3\r\nabcd\r\n"),            "", true},
    {"shorter than announced", WIRE("*2\r\n$3\r\nab\r\n+OK\r\n"), "", true},
    {"count over 31 bits",     WIRE("*2147483648\r\n"),           "", true},
    {"largest count",          WIRE("*2147483647\r\n"),           "", true},
    {"pairs that wrap",        WIRE("%4611686018427387905\r\n"),  "", true},
    {"pairs that just do not", WIRE("%4611686018427387903\r\n"),  "", true},
    {"one pair too many",      WIRE("%8388609\r\n"),              "", true},
    {"integer over 64 bits",   WIRE(":9223372036854775808\r\n"),  "", true},
    {"no integer",             WIRE(":1a\r\n"),                   "", true},
    {"no double",              WIRE(",1.5x\r\n"),                 "", true},
    {"infinite double",        WIRE(",1e999\r\n"),                "", true},
    {"no bool",                WIRE("#x\r\n"),                    "", true},
    {"no big number",          WIRE("(12a\r\n"),                  "", true},
    {"no null",                WIRE("_x\r\n"),                    "", true},
    {"verbatim without format", WIRE("=3\r\nabc\r\n"),            "", true},
    {"verbatim without colon", WIRE("=5\r\nabcde\r\n"),           "", true},
    {"a push in an array",     WIRE("*2\r\n+a\r\n>1\r\n+b\r\n"),  "", true},
    {"a push in a push",       WIRE(">2\r\n+a\r\n>1\r\n+b\r\n"),  "", false},
    {"an attribute in an array", WIRE("*1\r\n|1\r\n+a\r\n+b\r\n"), "", true},
    {"an attribute in an attribute", WIRE("|1\r\n|0\r\n+b\r\n"),  "", false},
    {"junk in an array",       WIRE("+OK\r\n*2\r\n+a\r\nHTTP/1.1"), "+OK | ", true},
};
/* clang-format on */

static void check_refused(const struct refused_case *c, size_t first_bytes,
                          size_t piece_bytes)
{
    open_decoder(&limits);
    int rc = feed_piece(c->wire, first_bytes);
    for (size_t at = first_bytes; at < c->wire_bytes; at += piece_bytes) {
        size_t left = c->wire_bytes - at;
        rc = feed_piece(c->wire + at, left < piece_bytes ? left : piece_bytes);
    }
    if (rc != SHOAL_EDESYNC || strcmp(owner.heard.text, c->heard) != 0 ||
        shoal__decoder_is_mid_reply(decoder) != c->is_mid_reply)
        fail_msg("%s, %zu then %zu: %d, %s", c->name, first_bytes, piece_bytes, rc,
                 owner.heard.text);
    assert_string_not_equal(shoal__decoder_error(decoder), "");
    assert_int_equal(feed("+more\r\n"), SHOAL_EDESYNC); /* it is final */
    assert_string_equal(owner.heard.text, c->heard);
    close_decoder();
}

static void test_what_is_no_resp_is_refused_however_it_is_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused_cases / sizeof *refused_cases; i++) {
        for (size_t split = 0; split <= refused_cases[i].wire_bytes; split++)
            check_refused(&refused_cases[i], split, SIZE_MAX);
        check_refused(&refused_cases[i], 0, 1);
    }
}

/* `head`, then `count` times `body`, then `tail`, in pieces. */
static int feed_many(const char *head, const char *body, size_t count, const char *tail,
                     size_t piece_bytes)
{
    size_t head_bytes = strlen(head), body_bytes = strlen(body);
    size_t bytes = head_bytes + count * body_bytes + strlen(tail);
    char *wire = malloc(bytes + 1);
    int rc = 0;

    assert_non_null(wire);
    memcpy(wire, head, head_bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(wire + head_bytes + i * body_bytes, body, body_bytes);
    strcpy(wire + head_bytes + count * body_bytes, tail);
    for (size_t at = 0; at < bytes && rc == 0; at += piece_bytes)
        rc = shoal__decoder_feed(decoder, wire + at,
                                 bytes - at < piece_bytes ? bytes - at : piece_bytes);
    free(wire);
    return rc;
}

static const size_t pieces[] = {SIZE_MAX, 65536, 4097, 1000, 1};

#define FOR_EACH_PIECE(i) for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)

static void test_lines_have_64_kib(void **state)
{
    (void)state;
    static const char *const heads[] = {"+", "-", "(", "*1\r\n+"};
    static const char *const endless[] = {"$", "*", ":", ",", "=", "_", "+\r", "+\n"};

    FOR_EACH_PIECE(p) {
        for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
            open_decoder(&limits);
            assert_int_equal(feed_many(heads[i], "1", 65536, "\r\n", pieces[p]), 0);
            assert_int_equal(owner.replies, 1);
            assert_int_equal(feed_many(heads[i], "1", 65537, "\r\n", pieces[p]),
                             SHOAL_EDESYNC);
            assert_int_equal(owner.replies, 1);
            close_decoder();
        }
        for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
            open_decoder(&limits);
            assert_int_equal(
                feed_many(endless[i], endless[i][1] ? "\r" : "1", 65538, "", pieces[p]),
                SHOAL_EDESYNC);
            close_decoder();
        }
    }
}

static void test_long_strings_arrive_whole(void **state)
{
    (void)state;
    FOR_EACH_PIECE(p) {
        open_decoder(&limits);
        owner.keeps = true;
        assert_int_equal(feed_many("$300000\r\n", "0123456789", 30000, "\r\n", pieces[p]),
                         0);
        assert_int_equal(
            feed_many("*2\r\n$300000\r\n", "0123456789", 30000, "\r\n:7\r\n", pieces[p]),
            0);
        assert_int_equal(owner.kept_count, 2);
        const shoal_reply_t *strings[] = {owner.kept[0], shoal_reply_at(owner.kept[1], 0)};
        for (int i = 0; i < 2; i++) {
            size_t bytes;
            const char *text = shoal_reply_string(strings[i], &bytes);
            assert_int_equal(bytes, 300000);
            assert_memory_equal(text + 299980, "01234567890123456789", 20);
        }
        close_decoder();
    }
}

static void check_limit(const shoal__decoder_limits_t *with, const char *wire, int rc)
{
    for (size_t piece = 1; piece <= strlen(wire); piece++) {
        open_decoder(with);
        int got = feed_many("+OK\r\n", wire, 1, "+END\r\n", piece);
        if (got != rc || owner.replies != (rc < 0 ? 1 : 3))
            fail_msg("%s in pieces of %zu: %d, %zu replies", wire, piece, got,
                     owner.replies);
        close_decoder();
    }
}

static void test_limits_hold_to_the_last_one(void **state)
{
    (void)state;
    static const shoal__decoder_limits_t small = {
        .bytes_max = 30, .elements_max = 4, .depth_max = 2};

    check_limit(&small, "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", 0);
    check_limit(&small, "*5\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n", SHOAL_EDESYNC);
    check_limit(&small, "%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", 0);
    check_limit(&small, "%3\r\n:1\r\n:2\r\n:3\r\n:4\r\n", SHOAL_EDESYNC);
    check_limit(&small, "*2\r\n*1\r\n:1\r\n*0\r\n", 0);
    check_limit(&small, "*1\r\n*1\r\n*0\r\n", SHOAL_EDESYNC);
    check_limit(&small, "$23\r\n12345678901234567890123\r\n", 0);
    check_limit(&small, "$24\r\n123456789012345678901234\r\n", SHOAL_EDESYNC);
    check_limit(&small, "+123456789012345678901234567\r\n", 0);
    check_limit(&small, "+1234567890123456789012345678\r\n", SHOAL_EDESYNC);
    check_limit(&small, "*2\r\n+12345678901\r\n+12345678\r\n", 0);
    check_limit(&small, "*2\r\n+12345678901\r\n+123456789\r\n", SHOAL_EDESYNC);
    check_limit(&small, "*2\r\n+1\r\n$16\r\n1234567890123456\r\n", SHOAL_EDESYNC);
}
