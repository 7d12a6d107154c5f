/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/sha1.h"
#include <string.h>

#define MILLION 1000000

static const struct {
    const char *text, *hex;
} vectors[] = {
    /* FIPS 180-4, and what redis-server answers to SCRIPT LOAD. */
    {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    {"return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"},
};

static void test_knows_the_vectors(void **state)
{
    char hex[SHOAL__SHA1_HEX_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        shoal__sha1_hex((shoal__bytes_t){vectors[i].text, strlen(vectors[i].text)},
                        hex);
        assert_string_equal(hex, vectors[i].hex);
    }
}

static void test_knows_a_million_letters(void **state)
{
    static char text[MILLION];
    char hex[SHOAL__SHA1_HEX_BYTES + 1];

    (void)state;
    memset(text, 'a', sizeof text);
    shoal__sha1_hex((shoal__bytes_t){text, sizeof text}, hex);
    assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

/* Each length around the end of a block: the hash of all hashes, as Python's hashlib has it. */
static void test_knows_each_length(void **state)
{
    char text[200], hexes[200 * SHOAL__SHA1_HEX_BYTES + 1];

    (void)state;
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        shoal__sha1_hex((shoal__bytes_t){text, i}, hexes + i * SHOAL__SHA1_HEX_BYTES);
    shoal__sha1_hex((shoal__bytes_t){hexes, sizeof hexes - 1}, hexes);
    assert_string_equal(hexes, "f024a06f9df4db3a81e536a8d16895eb9a9defb5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knows_the_vectors),
        cmocka_unit_test(test_knows_a_million_letters),
        cmocka_unit_test(test_knows_each_length),
    };
    return cmocka_run_group_tests_name("base/sha1", tests, NULL, NULL);
}
