/* SPDX-License-Identifier: MIT */

/* Whatever a server says of a command: what is understood is in range, and shows nothing but
 * arguments. */

#include "base/alloc.h"
#include "fuzz_input.h"
#include "resp/command_answer.h"
#include "resp/decoder.h"

#define ARGUMENTS 6

static const char *const words[ARGUMENTS] = {"MY.CMD", "2", "KEYS", "a", "3", "KEYS"};
static const shoal_command_t command = {ARGUMENTS, words, NULL};
static const shoal_command_t alone = {1, words, NULL};

static void check_key(void *data, shoal__bytes_t key)
{
    size_t at = 0;

    while (at < ARGUMENTS && words[at] != key.data)
        at++;
    FUZZ_CHECK(at > 0 && at < ARGUMENTS, "no argument");
    FUZZ_CHECK(++*(unsigned *)data <= SHOAL__LEARNED_SPECS_MAX * ARGUMENTS, "keys");
}

static void check_word(const char *word)
{
    size_t bytes = strlen(word);

    FUZZ_CHECK(bytes < SHOAL__LEARNED_WORD_BYTES, "%zu bytes", bytes);
    for (size_t i = 0; i < bytes; i++)
        FUZZ_CHECK(word[i] > ' ' && word[i] <= '~' &&
                       !(word[i] >= 'a' && word[i] <= 'z'),
                   "no word");
}

static void check_entry(const shoal__learned_entry_t *entry)
{
    check_word(entry->name);
    FUZZ_CHECK(entry->specs_count <= SHOAL__LEARNED_SPECS_MAX, "%u",
               entry->specs_count);
    for (unsigned i = 0; i < entry->specs_count; i++) {
        const shoal__learned_spec_t *spec = &entry->specs[i];
        check_word(spec->keyword);
        FUZZ_CHECK(spec->step >= 1 && spec->limit >= 0 && spec->count_at >= 0 &&
                       spec->first >= 0 && (spec->keyword[0] || spec->from >= 1),
                   "out of range");
    }
}

static void show(const shoal__learned_t *learned, const shoal_command_t *of)
{
    shoal__arguments_t arguments;
    unsigned keys = 0;

    shoal__arguments_of(&arguments, of);
    shoal__learned_keys(learned, arguments, check_key, &keys);
}

static shoal__decoder_target_t on_begin(void *owner, shoal_reply_type_t type)
{
    (void)owner, (void)type;
    return (shoal__decoder_target_t){0};
}

static bool on_reply(void *owner, const shoal_reply_t *reply, bool is_push)
{
    shoal__learned_t *learned = shoal__command_answer_read(shoal_reply_at(reply, 0));
    (void)owner, (void)is_push;

    if (!learned)
        return true;
    for (size_t i = 0; i < learned->count; i++)
        check_entry(&learned->entries[i]);
    show(learned, &command);
    show(learned, &alone);
    shoal__free(learned);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const shoal__decoder_limits_t limits = {1 << 16, 1 << 12, 8};
    const shoal__decoder_hooks_t hooks = {on_begin, on_reply};
    shoal__decoder_t *decoder;

    FUZZ_CHECK(shoal__decoder_new(&decoder, &limits, &hooks, NULL) == 0, "memory");
    shoal__decoder_feed(decoder, (const char *)data, bytes);
    shoal__decoder_free(decoder);
    return 0;
}
