/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_RESP_DECODER_CASES_H
#define TESTS_UNIT_RESP_DECODER_CASES_H

/* What a server may send, and what it may not, as tables. */

#include <stdbool.h>
#include <stddef.h>

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

/* clang-format off */
static const struct refused_case {
    const char *name, *wire;
    size_t wire_bytes;
    const char *heard;
    bool is_mid_reply; /* had the reply begun? */
} refused_cases[] = {
    {"no type",                WIRE("+OK\r\nx\r\n"),              "+OK | ", false},
    {"a string that ends in CR", WIRE("$3\r\nabc\rx+OK\r\n"),      "", true},
    {"a line feed in a line",  WIRE("+\n\r\n"),                  "", true},
    {"a line feed in a text",  WIRE("+a\n\r\n"),                 "", true},
    {"CR in a length",         WIRE("$5\rX\r\n"),                "", true},
    {"a length of 25 digits",  WIRE("$1234567890123456789012345\r\n"), "", true},
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

/* Much announced or much memory for few bytes; none of them is a whole reply. */
/* clang-format off */
static const struct greedy_case {
    const char *name, *head, *body;
    size_t count;
} greedy_cases[] = {
    {"a large count and nothing",    "*16777216\r\n", "", 0},
    {"a large map and nothing",      "%8388608\r\n", "", 0},
    {"large counts, nested",         "", "*16777216\r\n", 1024},
    {"counts of 1, nested",          "", "*1\r\n", 1024},
    {"maps of large counts, nested", "", "%8388608\r\n", 1024},
    {"nested too deeply",            "", "*1\r\n", 100000},
    {"a large count of nulls",       "*16777216\r\n", "_\r\n", 200000},
    {"a large count of letters",     "*16777216\r\n", "+a\r\n", 200000},
    {"a large count of strings",     "*16777216\r\n", "$0\r\n\r\n", 100000},
    {"a large count of small arrays", "*16777216\r\n", "*2\r\n_\r\n_\r\n", 60000},
    {"a large count of no arrays",   "*16777216\r\n", "*0\r\n", 100000},
    {"a large string of nothing",    "$500000000\r\n", "x", 1000},
};
/* clang-format on */

#endif
