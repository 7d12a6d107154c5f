/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/entropy.h"
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

static bool has_entropy;

/* In place of libuv's, which asks the system. */
int uv_random(uv_loop_t *loop, uv_random_t *request, void *buffer, size_t bytes,
              unsigned flags, uv_random_cb on_random)
{
    (void)loop;
    (void)request;
    (void)flags;
    (void)on_random;
    if (!has_entropy)
        return UV_ENOSYS;
    memset(buffer, 0x5a, bytes);
    return 0;
}

static void test_the_systems_entropy_is_taken(void **state)
{
    (void)state;
    has_entropy = true;
    assert_true(shoal__entropy() == UINT64_C(0x5a5a5a5a5a5a5a5a));
}

static void test_without_it_processes_still_differ(void **state)
{
    (void)state;
    int ends[2];
    uint64_t childs = 0;

    has_entropy = false;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        uint64_t seed = shoal__entropy();
        _exit(write(ends[1], &seed, sizeof seed) == (ssize_t)sizeof seed ? 0 : 1);
    }
    uint64_t seed = shoal__entropy();
    assert_int_equal(read(ends[0], &childs, sizeof childs), sizeof childs);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    assert_true(seed != 0 && childs != 0);
    assert_true(seed != childs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_systems_entropy_is_taken),
        cmocka_unit_test(test_without_it_processes_still_differ),
    };
    return cmocka_run_group_tests_name("net/entropy", tests, NULL, NULL);
}
