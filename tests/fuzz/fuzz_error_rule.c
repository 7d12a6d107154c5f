/* SPDX-License-Identifier: MIT */

/* Error texts of any kind: only a whole code in the first word makes a command go again,
 * and never one whose error proves nothing.  Two codes need their reason as well. */

#include "core/error_rule.h"
#include "fuzz_input.h"

static const struct code {
    const char *name;
    shoal__error_verdict_t verdict;
} codes[] = {
    {"LOADING", SHOAL__ERROR_HOLD},         {"TRYAGAIN", SHOAL__ERROR_HOLD_ALONE},
    {"CLUSTERDOWN", SHOAL__ERROR_HOLD},     {"MASTERDOWN", SHOAL__ERROR_HOLD},
    {"READONLY", SHOAL__ERROR_REDIAL_ROLE}, {"NOAUTH", SHOAL__ERROR_REDIAL},
};

static bool begins(const shoal__error_input_t *input, const char *text)
{
    size_t bytes = strlen(text);

    return input->text.bytes >= bytes && memcmp(input->text.data, text, bytes) == 0;
}

/* True if the server itself ended a blocking command.  When another client ends it, the
 * text begins with UNBLOCKED as well, and goes on with other words. */
static bool is_forced(const shoal__error_input_t *input)
{
    return input->command_class == SHOAL__CLASS_BLOCK &&
           begins(input, "UNBLOCKED force unblock");
}

/* A slot that nobody serves says nothing of the others. */
static bool is_of_slot(const shoal__error_input_t *input)
{
    return begins(input, "CLUSTERDOWN Hash slot");
}

/* The same rule, written as a loop over the codes. */
static shoal__error_verdict_t expected(const shoal__error_input_t *input)
{
    const char *text = input->text.data;

    if (input->is_once || input->is_unit || input->command_class == SHOAL__CLASS_SCRIPT)
        return SHOAL__ERROR_SURFACE;
    if (is_forced(input))
        return SHOAL__ERROR_REDIAL_ROLE;
    if (is_of_slot(input))
        return SHOAL__ERROR_HOLD_ALONE;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        size_t bytes = strlen(codes[i].name);

        if (input->text.bytes < bytes || memcmp(text, codes[i].name, bytes) != 0 ||
            (input->text.bytes > bytes && text[bytes] != ' '))
            continue;
        if (strcmp(codes[i].name, "NOAUTH") == 0 && !input->has_credentials)
            continue;
        return codes[i].verdict;
    }
    return SHOAL__ERROR_SURFACE;
}

/* What follows the first blank makes no difference; a further letter before it makes
 * the word no code. */
static void check_variants(shoal__error_input_t input, shoal__error_verdict_t verdict)
{
    const char *blank = memchr(input.text.data, ' ', input.text.bytes);
    size_t code_bytes = blank ? (size_t)(blank - input.text.data) : input.text.bytes;
    char *longer = malloc(code_bytes + 1);

    FUZZ_CHECK(longer, "no memory");
    memcpy(longer, input.text.data, code_bytes);
    input.text = (shoal__bytes_t){longer, code_bytes};
    FUZZ_CHECK(shoal__error_rule(&input) == verdict, "the rest of the text matters");
    longer[code_bytes] = 'X';
    input.text.bytes++;
    if (verdict != SHOAL__ERROR_SURFACE)
        FUZZ_CHECK(shoal__error_rule(&input) == SHOAL__ERROR_SURFACE,
                   "a longer word is taken for a code");
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};
    uint8_t flags = fuzz_byte(&in);
    size_t text_bytes;
    char *text = fuzz_take(&in, SIZE_MAX, &text_bytes);
    shoal__error_input_t input = {
        .text = {text, text_bytes},
        .command_class = (shoal__command_class_t)(flags & 3),
        .is_once = (flags & 4) != 0,
        .is_unit = (flags & 8) != 0,
        .has_credentials = (flags & 16) != 0,
    };
    shoal__error_verdict_t verdict = shoal__error_rule(&input);

    FUZZ_CHECK(verdict == expected(&input), "verdict %d, not %d", (int)verdict,
               (int)expected(&input));
    if (!is_forced(&input) && !is_of_slot(&input))
        check_variants(input, verdict);
    free(text);
    return 0;
}
