/* SPDX-License-Identifier: MIT */
#include "resp/command_answer.h"

#include "base/alloc.h"
#include "unit/core/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TEXT_BYTES 600

/* An entry up to its tips, with flags and the place of keys. */
#define OLD(flags, first, last, step)                                                  \
    "$6\r\nmy.cmd\r\n:-2\r\n" flags ":" #first "\r\n:" #last "\r\n:" #step "\r\n"
#define HEAD(flags, first, last, step) OLD(flags, first, last, step) "~0\r\n*0\r\n"
#define READONLY "~1\r\n+readonly\r\n"
#define MOVABLE "*2\r\n+write\r\n+movablekeys\r\n"

/* Key specifications, as maps (RESP3) and as lists. */
#define INDEX(n)                                                                       \
    "%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n%1\r\n$5\r\nindex\r\n:" #n "\r"  \
    "\n"
#define KEYWORD(word, n)                                                               \
    "*4\r\n$4\r\ntype\r\n$7\r\nkeyword\r\n$4\r\nspec\r\n*4\r\n$7\r\nkeyword\r\n" word  \
    "$9\r\nstartfrom\r\n:" #n "\r\n"
#define RANGE(last, step, limit)                                                       \
    "%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n%3\r\n$7\r\nlastkey\r\n:" #last  \
    "\r\n$7\r\nkeystep\r\n:" #step "\r\n$5\r\nlimit\r\n:" #limit "\r\n"
#define KEYNUM(at, first, step)                                                        \
    "*4\r\n$4\r\ntype\r\n$6\r\nkeynum\r\n$4\r\nspec\r\n*6\r\n$9\r\nkeynumidx\r\n:" #at \
    "\r\n$8\r\nfirstkey\r\n:" #first "\r\n$7\r\nkeystep\r\n:" #step "\r\n"
#define UNKNOWN "%2\r\n$4\r\ntype\r\n$7\r\nunknown\r\n$4\r\nspec\r\n%0\r\n"
#define SPEC(flags, begin, find)                                                       \
    "%3\r\n$5\r\nflags\r\n" flags "$12\r\nbegin_search\r\n" begin                      \
    "$9\r\nfind_keys\r\n" find
#define RO "~1\r\n+RO\r\n"
#define INCOMPLETE "~1\r\n+incomplete\r\n"
#define VARIABLE "~1\r\n+variable_flags\r\n"

#define SUB(name, first)                                                               \
    "*6\r\n" name ":-2\r\n" READONLY ":" #first "\r\n:" #first "\r\n:1\r\n"

static const struct row {
    const char *wire, *text;
} rows[] = {
    /* Servers before 7.0. */
    {"*6\r\n" OLD(READONLY, 1, 1, 1), "1..0/1;"},
    {"*7\r\n" OLD(READONLY, 1, -1, 2) "*0\r\n", "1..-1/2;"},
    {"*6\r\n" OLD(READONLY, 2, 3, 1), "2..1/1;"},
    {"*6\r\n" OLD(READONLY, 3, 2, 0), "3..0/1;"},
    {"*6\r\n" OLD(READONLY, 0, 0, 0), ";"},
    {"*6\r\n" OLD(MOVABLE, 2, 2, 1), "2..0/1;"},
    {"*6\r\n" OLD(MOVABLE, 0, 0, 0), "1..0/1;"}, /* nobody knows where */
    /* Key specifications. */
    {"*10\r\n" HEAD(READONLY, 1, 1, 1) "*1\r\n" SPEC(RO, INDEX(1),
                                                     RANGE(0, 1, 0)) "*0\r\n",
     "1..0/1;"},
    {"*10\r\n" HEAD(MOVABLE, 0, 0, 0) "*1\r\n" SPEC(RO, INDEX(2),
                                                    KEYNUM(0, 1, 1)) "*0\r\n",
     "2#0+1/1;"},
    {"*10\r\n" HEAD(MOVABLE, 0, 0, 0) "*1\r\n" SPEC(RO, KEYWORD("$7\r\nstreams\r\n", 1),
                                                    RANGE(-1, 1, 2)) "*0\r\n",
     "STREAMS@1..-1/1:2;"},
    {"*10\r\n" HEAD(MOVABLE, 1, 1, 1) "*2\r\n" SPEC(RO, INDEX(1), RANGE(0, 1, 0))
         SPEC(RO, KEYWORD("$4\r\nKEYS\r\n", -2), RANGE(-1, 1, 0)) "*0\r\n",
     "1..0/1 KEYS@-2..-1/1;"},
    /* A server that cannot say all says so; what a module says that looks for keys itself is
     * not all. */
    {"*10\r\n" HEAD(MOVABLE, 1, 1, 1) "*1\r\n" SPEC(INCOMPLETE, INDEX(2),
                                                    RANGE(0, 1, 0)) "*0\r\n",
     "1..0/1;"},
    {"*10\r\n" HEAD(MOVABLE, 0, 0, 0) "*1\r\n" SPEC(VARIABLE, INDEX(2),
                                                    RANGE(0, 1, 0)) "*0\r\n",
     "1..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(VARIABLE, INDEX(2),
                                                     RANGE(0, 1, 0)) "*0\r\n",
     "2..0/1;"},
    {"*10\r\n" HEAD(MOVABLE, 0, 0, 0) "*1\r\n" SPEC(RO, UNKNOWN,
                                                    RANGE(0, 1, 0)) "*0\r\n",
     "1..0/1;"},
    {"*10\r\n" HEAD(READONLY, 0, 0, 0) "*1\r\n" SPEC(RO, INDEX(1), UNKNOWN) "*0\r\n",
     ";"},
    /* Numbers and words that make no sense. */
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(RO, INDEX(0),
                                                     RANGE(0, 1, 0)) "*0\r\n",
     "3..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(RO, INDEX(1),
                                                     RANGE(0, 0, 0)) "*0\r\n",
     "3..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(RO, INDEX(1),
                                                     RANGE(70000, 1, 0)) "*0\r\n",
     "3..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(RO, KEYWORD("$1\r\nK\r\n", 0),
                                                     RANGE(0, 1, 0)) "*0\r\n",
     "3..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(RO, KEYWORD("$0\r\n\r\n", 1),
                                                     RANGE(0, 1, 0)) "*0\r\n",
     "3..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*1\r\n" SPEC(RO, KEYWORD("$3\r\na b\r\n", 1),
                                                     RANGE(0, 1, 0)) "*0\r\n",
     "3..0/1;"},
    {"*10\r\n" HEAD(READONLY, 3, 3, 1) "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n*0\r\n",
     "3..0/1;"},
    {"*6\r\n" OLD(READONLY, -1, 1, 1), "no"},
    {"*6\r\n" OLD(READONLY, 1, -70000, 1), "no"},
    {"*6\r\n" OLD(READONLY, 1, 1, -1), "no"},
    /* Subcommands. */
    {"*10\r\n" HEAD(READONLY, 0, 0, 0) "*0\r\n*3\r\n" SUB("$10\r\nmy.cmd|get\r\n", 2)
         SUB("$6\r\nmy.cmd\r\n", 2) SUB("$11\r\nmy.cmd|list\r\n", 0),
     ";GET 2..0/1;LIST ;"},
    {"*10\r\n" HEAD(READONLY, 0, 0, 0) "*0\r\n*2\r\n:1\r\n*1\r\n$3\r\na|b\r\n", ";"},
    /* No entry. */
    {"*-1\r\n", "no"},
    {"_\r\n", "no"},
    {"-ERR no\r\n", "no"},
    {"*2\r\n$6\r\nmy.cmd\r\n:1\r\n", "no"},
    {"%3\r\n" OLD(READONLY, 1, 1, 1), "no"},
};

static char *print_entry(char *at, const shoal__learned_entry_t *entry)
{
    at += sprintf(at, "%s%s", entry->name, entry->name[0] ? " " : "");
    for (unsigned i = 0; i < entry->specs_count; i++) {
        const shoal__learned_spec_t *spec = &entry->specs[i];
        at += sprintf(at, "%s", i > 0 ? " " : "");
        if (spec->keyword[0])
            at += sprintf(at, "%s@", spec->keyword);
        at += sprintf(at, "%d", spec->from);
        if (spec->is_counted)
            at += sprintf(at, "#%d+%d", spec->count_at, spec->first);
        else
            at += sprintf(at, "..%d", spec->last);
        at += sprintf(at, "/%d", spec->step);
        if (spec->limit)
            at += sprintf(at, ":%d", spec->limit);
    }
    return at + sprintf(at, ";");
}

static void print(const shoal_reply_t *reply, void *data)
{
    shoal__learned_t *learned = shoal__command_answer_read(reply);
    char *at = data;

    strcpy(at, "no");
    for (size_t i = 0; learned && i < learned->count; i++)
        at = print_entry(at, &learned->entries[i]);
    shoal__free(learned);
}

static void an_entry_says_where_keys_stand(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[TEXT_BYTES];
        wire_read(rows[i].wire, print, text);
        if (strcmp(text, rows[i].text) != 0)
            fail_msg("%s: '%s', not '%s'", rows[i].wire, text, rows[i].text);
    }
}

static void print_count(const shoal_reply_t *reply, void *data)
{
    shoal__learned_t *learned = shoal__command_answer_read(reply);

    *(size_t *)data = learned ? learned->count : 0;
    shoal__free(learned);
}

static void subcommands_have_a_bound(void **state)
{
    char wire[8192], *at = wire;
    size_t count = 0;
    (void)state;

    at += sprintf(at, "*10\r\n" HEAD(READONLY, 0, 0, 0) "*0\r\n*100\r\n");
    for (int i = 0; i < 100; i++)
        at += sprintf(at, SUB("$4\r\na|%02d\r\n", 1), i);
    wire_read(wire, print_count, &count);
    assert_int_equal(count, 65);
}

static void without_memory(const shoal_reply_t *reply, void *data)
{
    (void)data;
    shoal__test_fail_alloc_after(0);
    assert_null(shoal__command_answer_read(reply));
    shoal__test_fail_alloc_never();
}

static void memory_runs_out(void **state)
{
    (void)state;
    wire_read("*6\r\n" OLD(READONLY, 1, 1, 1), without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_entry_says_where_keys_stand),
        cmocka_unit_test(subcommands_have_a_bound),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("resp/command_answer", tests, NULL, NULL);
}
