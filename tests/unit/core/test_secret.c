/* SPDX-License-Identifier: MIT */
#include "core/secret.h"

#include "base/alloc.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <shoal/alloc.h>
#include <shoal/errors.h>

/* What is freed is looked at, and then given back: does it hold a word of these? */
static const char *const words[] = {"ann", "sesame", "bob", "tulip"};
static unsigned freed, found;

static void *take(size_t bytes)
{
    size_t *memory = malloc(sizeof(max_align_t) + bytes);

    assert_non_null(memory);
    *memory = bytes;
    return (char *)memory + sizeof(max_align_t);
}

static void give(void *memory)
{
    char *begin = memory;
    size_t bytes;

    if (!memory)
        return;
    memcpy(&bytes, begin - sizeof(max_align_t), sizeof bytes);
    freed++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t at = 0; at + strlen(words[i]) <= bytes; at++)
            found += memcmp(begin + at, words[i], strlen(words[i])) == 0;
    free(begin - sizeof(max_align_t));
}

static void *take_zeroed(size_t count, size_t bytes)
{
    return memset(take(count * bytes), 0, count * bytes);
}

static void *resize(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    freed = found = 0;
    return 0;
}

/* ---- what it holds ---- */

static void test_others_take_their_place(void **state)
{
    shoal__secret_t secret = {0}, other = {0};

    (void)state;
    assert_int_equal(shoal__secret_set(&secret, "ann", "sesame"), 0);
    assert_string_equal(secret.user, "ann");
    assert_string_equal(secret.password, "sesame");
    secret.is_refused = true;
    assert_int_equal(shoal__secret_set(&other, NULL, "tulip"), 0);
    shoal__secret_move(&secret, &other);
    assert_null(secret.user);
    assert_string_equal(secret.password, "tulip");
    assert_false(secret.is_refused);
    assert_null(other.password);
    shoal__secret_clear(&secret);
    assert_null(secret.password);
}

static void test_the_same(void **state)
{
    static const struct {
        const char *user, *password, *other_user, *other_password;
        bool is_same;
    } rows[] = {
        {NULL, NULL, NULL, NULL, true}, {NULL, "a", NULL, "a", true},
        {"u", "a", "u", "a", true},     {"u", "a", "u", "b", false},
        {"u", "a", "v", "a", false},    {"u", "a", NULL, "a", false},
        {NULL, "a", "u", "a", false},   {NULL, "a", NULL, NULL, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        shoal__secret_t one = {0}, other = {0};
        assert_int_equal(shoal__secret_set(&one, rows[i].user, rows[i].password), 0);
        assert_int_equal(
            shoal__secret_set(&other, rows[i].other_user, rows[i].other_password), 0);
        assert_int_equal(shoal__secret_equals(&one, &other), rows[i].is_same);
        shoal__secret_clear(&one);
        shoal__secret_clear(&other);
    }
}

static void test_what_is_refused(void **state)
{
    shoal__secret_t secret = {0};

    (void)state;
    assert_int_equal(shoal__secret_set(&secret, "ann", "sesame"), 0);
    assert_int_equal(shoal__secret_set(&secret, "bob", NULL), SHOAL_EINVAL);
    for (size_t allowed = 0; allowed < 2; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        assert_int_equal(shoal__secret_set(&secret, "bob", "tulip"), SHOAL_ENOMEM);
        shoal__test_fail_alloc_never();
    }
    assert_string_equal(secret.user, "ann");
    assert_string_equal(secret.password, "sesame");
    assert_int_equal(shoal__secret_set(&secret, NULL, NULL), 0);
    assert_null(secret.password);
    shoal__secret_free(NULL);
}

/* ---- what stays in memory ---- */

static void test_nothing_of_it_stays_in_memory(void **state)
{
    const shoal_allocator_t watched = {take, take_zeroed, resize, give};
    shoal__secret_t *secret, other = {0};

    (void)state;
    assert_int_equal(shoal_allocator_set(&watched), 0);
    secret = shoal__calloc(1, sizeof *secret);
    assert_non_null(secret);
    shoal__secret_set(secret, "ann", "sesame");
    shoal__secret_set(secret, "bob", "tulip");
    shoal__test_fail_alloc_after(1);
    assert_int_equal(shoal__secret_set(secret, "ann", "sesame"), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    shoal__secret_set(&other, "ann", "sesame");
    shoal__secret_move(secret, &other);
    shoal__secret_free(secret);
    assert_int_equal(shoal_allocator_set(NULL), 0);
    assert_int_equal(freed, 8);
    assert_int_equal(found, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_others_take_their_place, set_up),
        cmocka_unit_test_setup(test_the_same, set_up),
        cmocka_unit_test_setup(test_what_is_refused, set_up),
        cmocka_unit_test_setup(test_nothing_of_it_stays_in_memory, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
