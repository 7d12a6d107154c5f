/* SPDX-License-Identifier: MIT */
#include "core/cluster/fan_rule.h"

#include "resp/encoder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct fan_case {
    const char *words[3];
    enum shoal_route route;
    shoal__gather_policy_t policy;
    bool is_refused;
} fan_case_t;

#define ANY SHOAL_ROUTE_ANY, SHOAL__GATHER_BY_NODE, false
#define REFUSED SHOAL_ROUTE_ANY, SHOAL__GATHER_BY_NODE, true
#define PRIMARIES(policy) SHOAL_ROUTE_PRIMARIES, SHOAL__GATHER_##policy, false
#define NODES(policy) SHOAL_ROUTE_NODES, SHOAL__GATHER_##policy, false

static const fan_case_t cases[] = {
    {{"FLUSHALL"}, PRIMARIES(ALL)},
    {{"flushdb", "ASYNC"}, PRIMARIES(ALL)},
    {{"DBSIZE"}, PRIMARIES(SUM)},
    {{"KEYS", "*"}, PRIMARIES(JOIN)},
    {{"SCAN", "0"}, REFUSED},
    {{"RANDOMKEY"}, REFUSED},
    {{"config", "set"}, NODES(ALL)},
    {{"CONFIG", "GET", "save"}, ANY},
    {{"CONFIG"}, ANY},
    {{"SCRIPT", "LOAD", "return 1"}, NODES(ALL)},
    {{"SCRIPT", "EXISTS", "x"}, PRIMARIES(MIN)},
    {{"SCRIPT", "KILL"}, PRIMARIES(ONE)},
    {{"SCRIPT", "SHOW"}, ANY},
    {{"FUNCTION", "LIST"}, ANY},
    {{"FUNCTION", "LOAD"}, PRIMARIES(ALL)},
    {{"FUNCTION", "KILL"}, PRIMARIES(ONE)},
    {{"PUBSUB", "NUMSUB", "c"}, NODES(SUM)},
    {{"PUBSUB", "CHANNELS"}, NODES(JOIN)},
    {{"SLOWLOG", "LEN"}, NODES(SUM)},
    {{"MEMORY", "STATS"}, PRIMARIES(BY_NODE)},
    {{"WAIT", "1", "0"}, PRIMARIES(MIN)},
    {{"PING"}, ANY},
    {{"GET", "k"}, ANY},
    {{"KEYSX"}, ANY},
    {{"CLUSTER", "SLOTS"}, ANY},
};

static void check(const fan_case_t *expected, shoal__fan_t fan)
{
    if (fan.route != expected->route || fan.policy != expected->policy ||
        fan.is_refused != expected->is_refused)
        fail_msg("%s %s", expected->words[0],
                 expected->words[1] ? expected->words[1] : "");
    assert_int_equal(shoal__fan_is_wide(&fan), expected->route != SHOAL_ROUTE_ANY);
}

static void the_table_knows_who_gets_a_command(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t lengths[3], count = 0;
        char bytes[200];
        for (; count < 3 && cases[i].words[count]; count++)
            lengths[count] = strlen(cases[i].words[count]);
        shoal_command_t command = {count, cases[i].words, lengths};
        check(&cases[i], shoal__fan_of(&command));
        command.argvlen = NULL;
        check(&cases[i], shoal__fan_of(&command));
        const char *end = shoal__encoder_write(&command, bytes);
        check(&cases[i],
              shoal__fan_of_encoded((shoal__bytes_t){bytes, (size_t)(end - bytes)}));
    }
}

/* Large values are not among the bytes of a log. */
static void encoded_commands_may_be_cut(void **state)
{
    static const char text[] = "*2\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n";
    (void)state;

    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        shoal__fan_t fan = shoal__fan_of_encoded((shoal__bytes_t){text, bytes});
        assert_int_equal(fan.route, bytes == sizeof text - 1 ? SHOAL_ROUTE_NODES
                                                             : SHOAL_ROUTE_ANY);
        if (bytes == sizeof text - 1)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_knows_who_gets_a_command),
        cmocka_unit_test(encoded_commands_may_be_cut),
    };
    return cmocka_run_group_tests_name("fan_rule", tests, NULL, NULL);
}
