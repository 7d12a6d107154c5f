/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "core/options.h"
#include "core/role_reply.h"
#include "core/zone.h"
#include <shoal/errors.h>

static shoal_options_t *new_options(void)
{
    shoal_options_t *options = NULL;
    assert_int_equal(shoal_options_new(&options), 0);
    return options;
}

static void test_read_from(void **state)
{
    shoal_options_t *o = new_options();
    (void)state;

    assert_int_equal(o->read_from, SHOAL_READ_PRIMARY);
    assert_false(shoal__options_use_replicas(o));
    assert_int_equal(shoal_options_set_read_from(o, SHOAL_READ_REPLICA_PREFERRED), 0);
    assert_int_equal(o->read_from, SHOAL_READ_REPLICA_PREFERRED);
    assert_int_equal(shoal_options_set_read_from(o, SHOAL_READ_REPLICA), 0);
    assert_true(shoal__options_use_replicas(o));
    assert_int_equal(shoal_options_set_read_from(o, (shoal_read_from_t)5),
                     SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_read_from(o, (shoal_read_from_t)-1),
                     SHOAL_EINVAL);
    assert_int_equal(o->read_from, SHOAL_READ_REPLICA);
    assert_int_equal(shoal_options_set_read_from(NULL, SHOAL_READ_PRIMARY),
                     SHOAL_EINVAL);
    shoal_options_free(o);
}

static void test_zone(void **state)
{
    char longest[SHOAL__ZONE_BYTES + 2];
    shoal_options_t *o = new_options(), *copy = NULL;
    (void)state;

    memset(longest, 'z', sizeof longest);
    longest[SHOAL__ZONE_BYTES + 1] = '\0';
    assert_null(o->zone);
    assert_int_equal(shoal_options_set_zone(o, longest), SHOAL_EINVAL);
    longest[SHOAL__ZONE_BYTES] = '\0';
    assert_int_equal(shoal_options_set_zone(o, longest), 0);
    assert_int_equal(shoal_options_set_zone(o, ""), SHOAL_EINVAL);
    assert_int_equal(shoal_options_set_zone(NULL, "z"), SHOAL_EINVAL);
    assert_string_equal(o->zone, longest);
    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal_options_set_zone(o, "eu-1a"), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_string_equal(o->zone, longest);
    assert_int_equal(shoal_options_set_zone(o, "eu-1a"), 0);
    /* It matters if the options say so. */
    assert_null(shoal__options_zone(o));
    assert_int_equal(shoal_options_set_read_from(o, SHOAL_READ_ZONE), 0);
    assert_string_equal(shoal__options_zone(o), "eu-1a");
    assert_int_equal(shoal_options_set_read_from(o, SHOAL_READ_ZONE_OR_PRIMARY), 0);
    assert_string_equal(shoal__options_zone(o), "eu-1a");
    assert_true(shoal__options_use_replicas(o));
    assert_int_equal(shoal__options_copy(o, &copy), 0);
    assert_int_equal(shoal_options_set_zone(o, NULL), 0);
    assert_null(shoal__options_zone(o));
    assert_string_equal(shoal__options_zone(copy), "eu-1a");
    shoal_options_free(copy);
    shoal_options_free(o);
}

static void test_add_replica(void **state)
{
    char longest[SHOAL__ROLE_REPLY_HOST_BYTES + 2];
    shoal_options_t *o = new_options(), *copy = NULL;
    (void)state;

    memset(longest, 'h', sizeof longest);
    longest[SHOAL__ROLE_REPLY_HOST_BYTES + 1] = '\0';
    assert_int_equal(shoal_options_add_replica(o, longest, 1), SHOAL_EINVAL);
    longest[SHOAL__ROLE_REPLY_HOST_BYTES] = '\0';
    assert_int_equal(shoal_options_add_replica(o, longest, 1), 0);
    assert_int_equal(shoal_options_add_replica(NULL, "h", 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_replica(o, NULL, 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_replica(o, "", 1), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_replica(o, "h", 0), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_replica(o, "h", 65536), SHOAL_EINVAL);
    assert_int_equal(shoal_options_add_replica(o, "h", 65535), 0);
    assert_true(shoal__options_use_replicas(o));
    assert_int_equal(shoal__options_copy(o, &copy), 0);
    assert_int_equal(copy->replicas_count, 2);
    assert_string_equal(copy->replicas[0].host, longest);
    assert_ptr_not_equal(copy->replicas[0].host, o->replicas[0].host);
    assert_int_equal(copy->replicas[1].port, 65535);
    shoal_options_free(copy);
    while (o->replicas_count < SHOAL_REPLICAS_MAX)
        assert_int_equal(shoal_options_add_replica(o, "h", 7), 0);
    assert_int_equal(shoal_options_add_replica(o, "h", 7), SHOAL_EINVAL);
    shoal_options_free(o);
}

static void test_without_memory(void **state)
{
    shoal_options_t *o = new_options(), *copy = NULL;
    int rc = SHOAL_ENOMEM;
    (void)state;

    shoal__test_fail_alloc_after(0);
    assert_int_equal(shoal_options_add_replica(o, "h", 1), SHOAL_ENOMEM);
    shoal__test_fail_alloc_never();
    assert_int_equal(o->replicas_count, 0);
    assert_int_equal(shoal_options_add_replica(o, "h", 1), 0);
    assert_int_equal(shoal_options_add_replica(o, "i", 2), 0);
    assert_int_equal(shoal_options_set_zone(o, "z"), 0);
    for (size_t allowed = 0; rc == SHOAL_ENOMEM; allowed++) {
        shoal__test_fail_alloc_after(allowed);
        rc = shoal__options_copy(o, &copy);
        shoal__test_fail_alloc_never();
    }
    assert_int_equal(rc, 0);
    assert_string_equal(copy->replicas[1].host, "i");
    shoal_options_free(copy);
    shoal_options_free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_from),
        cmocka_unit_test(test_zone),
        cmocka_unit_test(test_add_replica),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
