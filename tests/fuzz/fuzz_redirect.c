/* SPDX-License-Identifier: MIT */

/* Error texts of any kind: what is taken for a redirect is written back as the same text,
 * and holds nothing but a host and a port. */

#include "core/redirect.h"
#include "fuzz_input.h"
#include <stdio.h>

static void check(const shoal__redirect_t *redirect, const char *text, size_t bytes)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._:";
    char plain[300], bracketed[300];

    FUZZ_CHECK(*redirect->host, "no host");
    FUZZ_CHECK(redirect->host[strspn(redirect->host, letters)] == '\0',
               "a strange host");
    FUZZ_CHECK(redirect->port >= 1 && redirect->port <= 65535, "port %d",
               redirect->port);
    size_t plain_bytes = (size_t)snprintf(plain, sizeof plain, "REDIRECT %s:%d",
                                          redirect->host, redirect->port);
    size_t bracketed_bytes =
        (size_t)snprintf(bracketed, sizeof bracketed, "REDIRECT [%s]:%d",
                         redirect->host, redirect->port);
    FUZZ_CHECK((plain_bytes == bytes && memcmp(plain, text, bytes) == 0) ||
                   (bracketed_bytes == bytes && memcmp(bracketed, text, bytes) == 0),
               "another text");
}

static void check_slot(const shoal__slot_redirect_t *redirect, const char *text,
                       size_t bytes)
{
    char beginning[40];
    size_t begins =
        (size_t)snprintf(beginning, sizeof beginning, "%s %u ",
                         redirect->is_ask ? "ASK" : "MOVED", redirect->slot);

    FUZZ_CHECK(redirect->slot < 16384, "slot %u", redirect->slot);
    FUZZ_CHECK(bytes > begins && memcmp(text, beginning, begins) == 0, "another text");
    FUZZ_CHECK(redirect->to.port >= 0 && redirect->to.port <= 65535, "port %d",
               redirect->to.port);
    FUZZ_CHECK(redirect->to.port > 0 || !*redirect->to.host, "a host without a port");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_input_t in = {data, data + bytes};
    size_t text_bytes;
    char *text = fuzz_take(&in, SIZE_MAX, &text_bytes);
    shoal__redirect_t redirect;
    shoal__slot_redirect_t slot;

    if (shoal__redirect_read_slot((shoal__bytes_t){text, text_bytes}, &slot))
        check_slot(&slot, text, text_bytes);
    if (shoal__redirect_read((shoal__bytes_t){text, text_bytes}, &redirect))
        check(&redirect, text, text_bytes);
    free(text);
    return 0;
}
