/* SPDX-License-Identifier: MIT */
#include "core/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct row {
    shoal__places_t places;
    bool for_first, for_others, is_short;
} rows[] = {
    {{0, 9, 9}, true, true, false}, /* no bound */
    {{4, 0, 0}, true, true, false},
    {{4, 3, 0}, true, true, false},
    {{4, 4, 0}, false, false, false},
    {{4, 5, 0}, false, false, false}, /* more than may be, but nobody wants one */
    {{4, 2, 1}, true, true, false},
    {{4, 3, 1}, true, false, false}, /* the last one is kept */
    {{4, 4, 1}, false, false, true},
    {{4, 0, 4}, true, false, false},
    {{4, 0, 5}, true, false, true},
};

static void places_have_room_or_not(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const shoal__places_t *places = &rows[i].places;
        assert_int_equal(shoal__places_have_room(places, true), rows[i].for_first);
        assert_int_equal(shoal__places_have_room(places, false), rows[i].for_others);
        assert_int_equal(shoal__places_are_short(places), rows[i].is_short);
    }
}

static void places_are_counted(void **state)
{
    shoal__places_t places = {.max = 4};
    (void)state;

    shoal__places_rank(&places, true, false); /* it owns slots, and is not connected */
    assert_int_equal(places.kept, 1);
    shoal__places_change(&places, true, true);
    shoal__places_change(&places, false, true);
    assert_int_equal(places.taken, 2);
    assert_int_equal(places.kept, 0);
    shoal__places_rank(&places, false, true); /* it has lost its slots */
    assert_int_equal(places.kept, 0);
    shoal__places_change(&places, false, false);
    shoal__places_rank(&places, true, true);
    shoal__places_change(&places, true, false);
    assert_int_equal(places.taken, 0);
    assert_int_equal(places.kept, 1);
    shoal__places_rank(&places, false, false);
    assert_int_equal(places.kept, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_have_room_or_not),
        cmocka_unit_test(places_are_counted),
    };
    return cmocka_run_group_tests_name("core/places", tests, NULL, NULL);
}
