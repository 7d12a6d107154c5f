/* SPDX-License-Identifier: MIT */
#include "core/cluster/every_node.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct every_case {
    const char *words[3];
    bool concerns_every_node;
} every_case_t;

static const every_case_t cases[] = {
    {{"FLUSHALL"}, true},
    {{"flushdb", "ASYNC"}, true},
    {{"DBSIZE"}, true},
    {{"SCAN", "0"}, true},
    {{"config", "set"}, true},
    {{"CONFIG", "GET", "save"}, false},
    {{"CONFIG"}, false},
    {{"SCRIPT", "LOAD", "return 1"}, true},
    {{"SCRIPT", "SHOW"}, false},
    {{"FUNCTION", "LIST"}, false},
    {{"FUNCTION", "LOAD"}, true},
    {{"WAIT", "1", "0"}, true},
    {{"PING"}, false},
    {{"GET", "k"}, false},
    {{"KEYSX"}, false},
    {{"CLUSTER", "SLOTS"}, false},
};

static void the_table_knows_what_concerns_every_node(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t lengths[3], count = 0;
        for (; count < 3 && cases[i].words[count]; count++)
            lengths[count] = strlen(cases[i].words[count]);
        shoal_command_t command = {count, cases[i].words, lengths};
        if (shoal__concerns_every_node(&command) != cases[i].concerns_every_node)
            fail_msg("%s", cases[i].words[0]);
        command.argvlen = NULL;
        assert_int_equal(shoal__concerns_every_node(&command),
                         cases[i].concerns_every_node);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_knows_what_concerns_every_node),
    };
    return cmocka_run_group_tests_name("every_node", tests, NULL, NULL);
}
