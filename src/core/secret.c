/* SPDX-License-Identifier: MIT */
#include "core/secret.h"

#include "base/alloc.h"
#include <shoal/errors.h>
#include <string.h>

void shoal__secret_free_text(char *text)
{
    if (text)
        shoal__wipe_free(text, strlen(text));
}

/* NULL stays NULL.  False: no memory. */
static bool copy(const char *text, char **ret_copy)
{
    *ret_copy = text ? shoal__strdup(text) : NULL;
    return !text || *ret_copy;
}

void shoal__secret_move(shoal__secret_t *secret, shoal__secret_t *from)
{
    shoal__secret_t moved = *from;

    *from = (shoal__secret_t){.user = NULL};
    shoal__secret_clear(secret);
    *secret = moved;
}

static bool is_same(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : one == other;
}

bool shoal__secret_equals(const shoal__secret_t *one, const shoal__secret_t *other)
{
    return is_same(one->user, other->user) && is_same(one->password, other->password);
}

int shoal__secret_set(shoal__secret_t *secret, const char *user, const char *password)
{
    shoal__secret_t set = {.user = NULL};

    if (user && !password)
        return SHOAL_EINVAL;
    if (!copy(user, &set.user) || !copy(password, &set.password)) {
        shoal__secret_clear(&set);
        return SHOAL_ENOMEM;
    }
    shoal__secret_move(secret, &set);
    return 0;
}

void shoal__secret_clear(shoal__secret_t *secret)
{
    shoal__secret_t former = *secret;

    *secret = (shoal__secret_t){.user = NULL};
    shoal__secret_free_text(former.user);
    shoal__secret_free_text(former.password);
}

void shoal__secret_free(shoal__secret_t *secret)
{
    if (!secret)
        return;
    shoal__secret_clear(secret);
    shoal__free(secret);
}
