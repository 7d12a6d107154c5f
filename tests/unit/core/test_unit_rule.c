/* SPDX-License-Identifier: MIT */
#include "core/unit_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ABORT "EXECABORT Transaction discarded because of previous errors."
#define ABORT_BY "EXECABORT Transaction discarded because of: "
#define MOVED "MOVED 7 h:1"
#define ASK "ASK 7 h:2"
#define MIXED "TRYAGAIN a part of the unit was sent elsewhere"

static shoal__bytes_t bytes_of(const char *text)
{
    return (shoal__bytes_t){text, strlen(text)};
}

static void the_refusals_of_a_unit_mean_one_thing(void **state)
{
    static const struct {
        const char *parts[3]; /* that were refused */
        const char *exec;
        const char *words; /* NULL: the errors are the results */
    } cases[] = {
        {{MOVED}, ABORT, MOVED},
        {{MOVED, MOVED}, ABORT, MOVED},
        {{ASK}, ABORT, ASK},
        {{ASK, ASK, ASK}, ABORT, ASK},
        {{NULL}, MOVED, MOVED}, /* the slot went between the last part and EXEC */
        {{NULL}, ASK, ASK},
        {{MOVED, "MOVED 7 h:2"}, ABORT, MIXED},
        {{MOVED, ASK}, ABORT, MIXED},
        {{ASK}, MOVED, MIXED},
        {{MOVED, "MOVED 7 h:2", MOVED}, ABORT, MIXED},
        {{"TRYAGAIN x"}, ABORT, "TRYAGAIN x"},
        {{MOVED, "TRYAGAIN x"}, ABORT, "TRYAGAIN x"},
        {{"TRYAGAIN x", MOVED}, ABORT, "TRYAGAIN x"},
        {{"LOADING x"}, ABORT, "LOADING x"},
        {{"TRYAGAIN x", "LOADING y"}, ABORT, "LOADING y"},
        {{"LOADING y", "TRYAGAIN x"}, ABORT, "LOADING y"},
        {{NULL}, "TRYAGAIN x", "TRYAGAIN x"},
        {{NULL}, "CLUSTERDOWN The cluster is down", "CLUSTERDOWN The cluster is down"},
        {{NULL}, ABORT_BY "LOADING x", "LOADING x"},
        {{NULL}, ABORT_BY "MASTERDOWN x", "MASTERDOWN x"},
        {{MOVED}, ABORT_BY "READONLY x", "READONLY x"},
        /* A user has to see these. */
        {{NULL}, ABORT, NULL},
        {{"ERR unknown command"}, ABORT, NULL},
        {{MOVED, "ERR unknown command"}, ABORT, NULL},
        {{"ERR unknown command", MOVED}, ABORT, NULL},
        {{"ERR unknown command", "TRYAGAIN x"}, ABORT, NULL},
        {{"OOM x"}, ABORT, NULL},
        {{NULL}, ABORT_BY "OOM x", NULL},
        {{NULL}, "NOPERM x", NULL},
        {{MOVED}, "ERR x", NULL},
        {{"MOVED 7 nobody"}, ABORT, NULL},
        {{"MOVEDX 7 h:1"}, ABORT, NULL},
    };
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal__unit_t unit = {SHOAL__UNIT_WHOLE, {NULL, 0}};
        shoal__bytes_t words;

        for (size_t part = 0; part < 3 && cases[i].parts[part]; part++)
            shoal__unit_refused(&unit, bytes_of(cases[i].parts[part]));
        bool goes_again = shoal__unit_ended(&unit, bytes_of(cases[i].exec), &words);
        if (goes_again != (cases[i].words != NULL) ||
            (goes_again && !shoal__bytes_equal(words, bytes_of(cases[i].words))))
            fail_msg("case %zu: %.*s", i, goes_again ? (int)words.bytes : 0,
                     words.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_refusals_of_a_unit_mean_one_thing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
