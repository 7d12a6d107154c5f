/* SPDX-License-Identifier: MIT */
#include "net/tls_context.h"

#include <shoal/errors.h>

#if SHOAL_TLS

#include "base/alloc.h"
#include "net/tls_vault.h"
#include <openssl/ssl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define FILES 3 /* authorities, certificate, key */

/* What tells that a file has changed. */
typedef struct stamp {
    dev_t device;
    ino_t number;
    off_t bytes;
    struct timespec changed;
} stamp_t;

struct shoal__tls_context {
    shoal__tls_settings_t settings;
    pthread_mutex_t lock;      /* of what follows */
    shoal__tls_vault_t *vault; /* NULL: the files were never good */
    stamp_t stamps[FILES];     /* of the files when they were read last */
    bool is_read;              /* were they? */
    char room[SHOAL__TLS_ROOM_BYTES];
};

char *shoal__tls_context_room(shoal__tls_context_t *context)
{
    return context->room;
}

const shoal__tls_settings_t *
shoal__tls_context_settings(const shoal__tls_context_t *context)
{
    return &context->settings;
}

/* ---- the files ---- */

static const char *file_of(const shoal__tls_settings_t *settings, size_t i)
{
    const char *files[FILES] = {settings->ca_file, settings->cert_file,
                                settings->key_file};

    return files[i];
}

static void look_at_files(const shoal__tls_settings_t *settings,
                          stamp_t ret_stamps[FILES])
{
    struct stat found;

    memset(ret_stamps, 0, FILES * sizeof *ret_stamps);
    for (size_t i = 0; i < FILES; i++) {
        const char *file = file_of(settings, i);
        if (!file || stat(file, &found) < 0)
            continue;
        ret_stamps[i].device = found.st_dev;
        ret_stamps[i].number = found.st_ino;
        ret_stamps[i].bytes = found.st_size;
        ret_stamps[i].changed = found.st_mtim;
    }
}

struct shoal__tls_vault *shoal__tls_context_vault(shoal__tls_context_t *context)
{
    shoal__tls_vault_t *vault;

    pthread_mutex_lock(&context->lock);
    vault = context->vault ? shoal__tls_vault_share(context->vault) : NULL;
    pthread_mutex_unlock(&context->lock);
    return vault;
}

/* ---- the context ---- */

shoal__tls_context_t *shoal__tls_context_new(const shoal__tls_settings_t *settings)
{
    shoal__tls_context_t *context = shoal__calloc(1, sizeof *context);

    if (!context)
        return NULL;
    /* Nothing of ours runs at the end of the process, when other threads may. */
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    if (shoal__tls_settings_copy(settings, &context->settings) < 0) {
        shoal__free(context);
        return NULL;
    }
    if (pthread_mutex_init(&context->lock, NULL) != 0) {
        shoal__tls_settings_release(&context->settings);
        shoal__free(context);
        return NULL;
    }
    return context;
}

void shoal__tls_context_free(shoal__tls_context_t *context)
{
    if (!context)
        return;
    shoal__tls_vault_drop(context->vault);
    pthread_mutex_destroy(&context->lock);
    shoal__tls_settings_release(&context->settings);
    shoal__free(context);
}

/* Files that change while they are read are read again at the next attempt. */
static int read_files(shoal__tls_context_t *context, const stamp_t stamps[FILES],
                      char *why)
{
    shoal__tls_vault_t *vault = NULL, *former = NULL;
    int rc = shoal__tls_vault_read(&context->settings, &vault, why);

    pthread_mutex_lock(&context->lock);
    memcpy(context->stamps, stamps, sizeof context->stamps);
    context->is_read = rc != SHOAL_ENOMEM;
    if (rc == 0) {
        former = context->vault;
        context->vault = vault;
    }
    pthread_mutex_unlock(&context->lock);
    shoal__tls_vault_drop(former);
    return rc;
}

static bool is_read(shoal__tls_context_t *context, const stamp_t stamps[FILES])
{
    pthread_mutex_lock(&context->lock);
    bool is_same = memcmp(stamps, context->stamps, sizeof context->stamps) == 0;
    /* What was never good is tried each time: a file in a folder may be there now. */
    bool is_there = context->is_read && context->vault && is_same;
    pthread_mutex_unlock(&context->lock);
    return is_there;
}

int shoal__tls_context_refresh(shoal__tls_context_t *context, bool *ret_has_last,
                               char why[SHOAL__TLS_WHY_BYTES])
{
    stamp_t stamps[FILES];
    int rc = 0;

    look_at_files(&context->settings, stamps);
    if (!is_read(context, stamps))
        rc = read_files(context, stamps, why);
    pthread_mutex_lock(&context->lock);
    *ret_has_last = context->vault != NULL;
    pthread_mutex_unlock(&context->lock);
    return rc;
}

int shoal__tls_context_reload(shoal__tls_context_t *context,
                              char why[SHOAL__TLS_WHY_BYTES])
{
    stamp_t stamps[FILES];

    look_at_files(&context->settings, stamps);
    return read_files(context, stamps, why);
}

#else

shoal__tls_context_t *shoal__tls_context_new(const shoal__tls_settings_t *settings)
{
    (void)settings;
    return NULL;
}

void shoal__tls_context_free(shoal__tls_context_t *context)
{
    (void)context;
}

int shoal__tls_context_refresh(shoal__tls_context_t *context, bool *ret_has_last,
                               char why[SHOAL__TLS_WHY_BYTES])
{
    (void)context;
    *ret_has_last = false;
    why[0] = '\0';
    return SHOAL_ETLS;
}

int shoal__tls_context_reload(shoal__tls_context_t *context,
                              char why[SHOAL__TLS_WHY_BYTES])
{
    (void)context;
    why[0] = '\0';
    return SHOAL_ETLS;
}

#endif
