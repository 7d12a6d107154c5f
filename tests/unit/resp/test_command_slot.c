/* SPDX-License-Identifier: MIT */
#include "resp/command_slot.h"

#include "base/alloc.h"
#include "resp/encoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define WORDS_MAX 10
#define NONE SHOAL__SLOT_NONE
#define SEVERAL SHOAL__SLOT_SEVERAL
#define SLOT_OF_FOO 12182 /* CLUSTER KEYSLOT foo */
#define SLOT_OF_BAR 5061

typedef struct slot_case {
    const char *words[WORDS_MAX]; /* NULL ends them */
    unsigned slot;
} slot_case_t;

static const slot_case_t cases[] = {
    {{"GET", "foo"}, SLOT_OF_FOO},
    {{"set", "{foo}1", "bar"}, SLOT_OF_FOO},
    {{"MSET", "foo", "1", "{foo}2", "2"}, SLOT_OF_FOO},
    {{"MSET", "foo", "1", "bar", "2"}, SEVERAL},
    {{"MGET", "foo", "bar", "foo"}, SEVERAL},
    {{"PING"}, NONE},
    {{"EVAL", "return 1", "0"}, NONE},
    {{"EVAL", "return 1", "1", "bar", "foo"}, SLOT_OF_BAR},
    {{"EVAL", "return 1", "2", "bar", "foo"}, SEVERAL},
    {{"OBJECT", "ENCODING", "foo"}, SLOT_OF_FOO},
    {{"XREAD", "COUNT", "1", "STREAMS", "foo", "0"}, SLOT_OF_FOO},
    {{"FLUSHALL"}, NONE},
    /* Modules: the first argument. */
    {{"JSON.GET", "foo", "$"}, SLOT_OF_FOO},
    {{"FT._LIST"}, NONE},
};

static size_t read_case(const slot_case_t *row, size_t lengths[WORDS_MAX],
                        shoal_command_t *command)
{
    size_t count = 0;

    for (; count < WORDS_MAX && row->words[count]; count++)
        lengths[count] = strlen(row->words[count]);
    *command = (shoal_command_t){count, row->words, lengths};
    return count;
}

static void a_command_has_the_slot_of_its_keys(void **state)
{
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t lengths[WORDS_MAX];
        shoal_command_t command;
        char encoded[512];

        read_case(&cases[i], lengths, &command);
        if (shoal__command_slot(&command, NULL) != cases[i].slot)
            fail_msg("%s: %u", cases[i].words[0], shoal__command_slot(&command, NULL));
        command.argvlen = NULL;
        assert_int_equal(shoal__command_slot(&command, NULL), cases[i].slot);
        size_t bytes = (size_t)(shoal__encoder_write(&command, encoded) - encoded);
        assert_int_equal(shoal__encoded_slot((shoal__bytes_t){encoded, bytes}, NULL),
                         cases[i].slot);
    }
}

/* Behind a large value nothing can be read: what stands before it counts. */
static void bytes_that_lack_their_end_have_the_slot_of_what_is_there(void **state)
{
    static const char text[] =
        "*4\r\n$8\r\nJSON.SET\r\n$3\r\nfoo\r\n$1\r\n$\r\n$99999\r\n";
    shoal__bytes_t encoded = {text, sizeof text - 1};
    (void)state;

    assert_int_equal(shoal__encoded_slot(encoded, NULL), SLOT_OF_FOO);
    for (encoded.bytes = 0; encoded.bytes < sizeof text - 1; encoded.bytes++) {
        unsigned slot = shoal__encoded_slot(encoded, NULL);
        assert_true(slot == NONE || slot == SLOT_OF_FOO);
    }
}

static void a_book_knows_more(void **state)
{
    static const char *const words[] = {"my.cmd", "bar", "foo"};
    static const char encoded[] = "*3\r\n$6\r\nMY.CMD\r\n$3\r\nbar\r\n$3\r\nfoo\r\n";
    const shoal__bytes_t bytes = {encoded, sizeof encoded - 1};
    const shoal_command_t command = {3, words, NULL};
    shoal__command_book_t book = {.names = 0};
    shoal__learned_t *learned =
        shoal__calloc(1, sizeof *learned + sizeof *learned->entries);
    (void)state;

    assert_non_null(learned);
    assert_int_equal(shoal__command_slot(&command, &book), SLOT_OF_BAR);
    assert_int_equal(shoal__encoded_slot(bytes, &book), SLOT_OF_BAR);
    learned->count = learned->entries[0].specs_count = 1;
    learned->entries[0].specs[0] =
        (shoal__learned_spec_t){.from = 2, .last = 0, .step = 1};
    shoal__book_answer(shoal__book_ask(&book), learned);
    assert_int_equal(shoal__command_slot(&command, &book), SLOT_OF_FOO);
    assert_int_equal(shoal__encoded_slot(bytes, &book), SLOT_OF_FOO);
    assert_int_equal(shoal__command_slot(&command, NULL), SLOT_OF_BAR);
    learned->entries[0].specs[0].from = 1;
    learned->entries[0].specs[0].last = -1;
    assert_int_equal(shoal__command_slot(&command, &book), SEVERAL);
    learned->entries[0].specs_count = 0;
    assert_int_equal(shoal__command_slot(&command, &book), NONE);
    shoal__book_release(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_has_the_slot_of_its_keys),
        cmocka_unit_test(bytes_that_lack_their_end_have_the_slot_of_what_is_there),
        cmocka_unit_test(a_book_knows_more),
    };
    return cmocka_run_group_tests_name("command_slot", tests, NULL, NULL);
}
