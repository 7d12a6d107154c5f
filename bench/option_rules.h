/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_BENCH_OPTION_RULES_H
#define SHOAL_BENCH_OPTION_RULES_H

/* The table of options: names, operands, where the value goes, help. */

#include "options.h"

/* How an option's text becomes a value at its offset in options_t. */
typedef enum rule_kind {
    RULE_HEADING, /* no option: `help` heads the ones that follow */
    RULE_WHOLE,   /* uint64_t, min .. max */
    RULE_NUMBERS, /* number_list_t, each min .. max */
    RULE_SECONDS, /* decimal seconds to uint64_t microseconds, min .. max of those */
    RULE_TEXT,    /* const char * */
    RULE_COPY,    /* char *, a copy of its own */
    RULE_SET,     /* bool, true */
    RULE_CLEAR,   /* bool, false */
    RULE_CALL,    /* apply() says what is wrong, or NULL */
} rule_kind_t;

typedef struct rule {
    char letter;         /* 0: none */
    const char *name;    /* NULL: a heading */
    const char *operand; /* its name in the help; NULL: takes none */
    rule_kind_t kind;
    size_t offset;
    uint64_t min;
    uint64_t max;
    const char *(*apply)(options_t *options, const char *text);
    const char *help;
} rule_t;

extern const rule_t option_rules[];
extern const size_t option_rules_count;

#endif
