/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/zone.h"
#include <string.h>

static void test_what_servers_say(void **state)
{
    static const struct text {
        const char *info, *zone;
    } texts[] = {
        {"", ""},
        {"availability_zone:eu-1a", "eu-1a"},
        {"# Server\r\nredis_version:8.1.0\r\navailability_zone:eu-1a\r\nx:1\r\n",
         "eu-1a"},
        {"# Server\navailability_zone:b\n", "b"},
        {"# Server\r\navailability_zone:\r\nport:1\r\n", ""},
        {"# Server\r\nmy_availability_zone:a\r\n", ""},
        {"availability_zone", ""},
        {"\n\n\r\navailability_zone:c d\r\n", "c d"},
        {"port:1\r\n", ""},
    };
    (void)state;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const shoal__bytes_t info = {texts[i].info, strlen(texts[i].info)};
        shoal__bytes_t zone = shoal__zone_read(info);
        assert_int_equal(zone.bytes, strlen(texts[i].zone));
        if (zone.bytes > 0)
            assert_memory_equal(zone.data, texts[i].zone, zone.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_servers_say)};

    return cmocka_run_group_tests_name("core/zone", tests, NULL, NULL);
}
