/* SPDX-License-Identifier: MIT */
#include "core/error_rule.h"

/* The first word.  Servers write codes in upper case. */
static shoal__bytes_t code_of(shoal__bytes_t text)
{
    size_t bytes = 0;

    while (bytes < text.bytes && text.data[bytes] != ' ')
        bytes += 1;
    return (shoal__bytes_t){text.data, bytes};
}

static bool is_code(shoal__bytes_t code, const char *name)
{
    return shoal__bytes_equal(code, (shoal__bytes_t){name, strlen(name)});
}

shoal__error_verdict_t shoal__error_rule(const shoal__error_input_t *input)
{
    bool is_script = input->command_class == SHOAL__CLASS_SCRIPT;

    if (is_script || input->is_unit || input->is_once)
        return SHOAL__ERROR_SURFACE;

    shoal__bytes_t code = code_of(input->text);
    if (is_code(code, "CLUSTERDOWN"))
        return shoal__bytes_start(input->text, "CLUSTERDOWN Hash slot")
                   ? SHOAL__ERROR_HOLD_ALONE
                   : SHOAL__ERROR_HOLD;
    if (is_code(code, "TRYAGAIN"))
        return SHOAL__ERROR_HOLD_ALONE;
    if (is_code(code, "LOADING") || is_code(code, "MASTERDOWN"))
        return SHOAL__ERROR_HOLD;
    /* The server lost its role, let go what was blocked on it, and closes the connection:
     * what is written to that meanwhile is lost. */
    if (input->command_class == SHOAL__CLASS_BLOCK && is_code(code, "UNBLOCKED") &&
        shoal__bytes_start(input->text, "UNBLOCKED force unblock"))
        return SHOAL__ERROR_REDIAL_ROLE;
    if (is_code(code, "READONLY"))
        return SHOAL__ERROR_REDIAL_ROLE;
    if (is_code(code, "NOAUTH") && input->has_credentials)
        return SHOAL__ERROR_REDIAL;
    return SHOAL__ERROR_SURFACE;
}
