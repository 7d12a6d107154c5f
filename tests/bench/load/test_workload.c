/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "load/workload.h"

#include <string.h>

static const char *const set_argv[] = {"SET", "key:__key__", "__data__"};
static const char *const get_argv[] = {"GET", "key:__key__"};

static workload_spec_t mix(void)
{
    return (workload_spec_t){.argc = 3,
                             .argv = set_argv,
                             .value_bytes = 2,
                             .value_bytes_max = 40,
                             .sets = 1,
                             .gets = 3,
                             .keyspace = 1000,
                             .is_verified = true};
}

static void open_pair(const workload_spec_t *spec, workload_t *workload,
                      command_t *command, uint64_t seed)
{
    const char *problem = NULL;
    if (workload_init(workload, spec, &problem) < 0)
        fail_msg("%s", problem);
    assert_int_equal(command_init(command, workload, seed), 0);
}

/* What the server would hold under the key of a command, if all keys were prefilled. */
static void test_each_get_of_a_mix_reads_what_each_set_of_its_key_wrote(void **state)
{
    (void)state;
    workload_t workload;
    workload_t prefill;
    command_t command;
    command_t set;
    size_t gets = 0;
    const workload_spec_t spec = mix();

    open_pair(&spec, &workload, &command, 7);
    assert_true(workload_wants_prefill(&workload));
    assert_int_equal(workload_prefill_init(&prefill, &workload), 0);
    assert_int_equal(command_init(&set, &prefill, 1), 0);
    for (int i = 0; i < 4000; i++) {
        uint64_t number = 0;
        command_next(&command, &workload);
        for (size_t k = 4; k < 16; k++)
            number = number * 10 + (uint64_t)(command.argv[1][k] - '0');
        command_fill_number(&set, &prefill, number);
        assert_int_equal(set.argc, 3);
        assert_memory_equal(set.argv[1], command.argv[1], 16);
        assert_in_range(set.argvlen[2], 2, 40);

        gets += command.is_get;
        assert_int_equal(command.argc, command.is_get ? 2 : 3);
        assert_memory_equal(command.argv[0], command.is_get ? "GET" : "SET", 3);
        if (command.is_get) {
            assert_true(
                command_accepts(&command, &workload, set.argv[2], set.argvlen[2]));
            assert_false(command_accepts(&command, &workload, "OK", 2));
        } else {
            assert_int_equal(command.argvlen[2], set.argvlen[2]);
            assert_memory_equal(command.argv[2], set.argv[2], set.argvlen[2]);
            assert_true(command_accepts(&command, &workload, "OK", 2));
        }
    }
    assert_in_range(gets, 2850, 3150);
    command_release(&set);
    command_release(&command);
    workload_release(&prefill);
    workload_release(&workload);
}

static void test_lengths_cover_their_range(void **state)
{
    (void)state;
    workload_t workload;
    command_t command;
    bool seen[9] = {false};
    workload_spec_t spec = mix();

    spec.sets = spec.gets = 0;
    spec.is_verified = false;
    spec.value_bytes = 1;
    spec.value_bytes_max = 8;
    spec.keyspace = 0;
    open_pair(&spec, &workload, &command, 3);
    for (int i = 0; i < 1000; i++) {
        char encoded[128];
        command_next(&command, &workload);
        assert_in_range(command.argvlen[2], 1, 8);
        seen[command.argvlen[2]] = true;
        assert_int_equal(command_encode(&command, encoded),
                         command_encode(&command, NULL));
    }
    for (size_t i = 1; i <= 8; i++)
        assert_true(seen[i]);
    command_release(&command);
    workload_release(&workload);
}

static void test_a_fixed_command_never_changes(void **state)
{
    (void)state;
    workload_t workload;
    command_t command;
    const workload_spec_t spec = {
        .argc = 3, .argv = set_argv, .value_bytes = 16, .value_bytes_max = 16};

    open_pair(&spec, &workload, &command, 1);
    assert_true(workload.is_fixed);
    assert_int_equal(command_encode(&command, NULL), 59);
    command_release(&command);
    workload_release(&workload);
}

static void test_what_does_not_fit_together_is_refused(void **state)
{
    (void)state;
    static const char *const middle_argv[] = {"SET", "key", "a__data__b"};
    static const char *const random_argv[] = {"SET", "__rand_int__", "__data__"};
    workload_spec_t specs[] = {mix(), mix(), mix()};
    workload_t workload;
    const char *problem;

    specs[0].argc = 2;
    specs[0].argv = get_argv;
    specs[1].argv = middle_argv;
    specs[2].argv = random_argv;
    for (size_t i = 0; i < 3; i++) {
        problem = NULL;
        assert_int_equal(workload_init(&workload, &specs[i], &problem), -1);
        assert_non_null(problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_get_of_a_mix_reads_what_each_set_of_its_key_wrote),
        cmocka_unit_test(test_lengths_cover_their_range),
        cmocka_unit_test(test_a_fixed_command_never_changes),
        cmocka_unit_test(test_what_does_not_fit_together_is_refused),
    };
    return cmocka_run_group_tests_name("bench/workload", tests, NULL, NULL);
}
