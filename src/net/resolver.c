/* SPDX-License-Identifier: MIT */
#include "net/resolver.h"

#include "base/alloc.h"
#include "net/notifier.h"
#include "net/quiet_thread.h"
#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* What the thread and the loop share: freed by whichever is the last. */
typedef struct job {
    atomic_int owners;
    atomic_bool is_done; /* what follows is filled in */
    shoal__notifier_t done;
    int error;        /* of getaddrinfo */
    int system_error; /* EAI_SYSTEM: errno */
    shoal__addresses_t addresses;
    char service[8];
    char host[];
} job_t;

struct shoal__lookup {
    uv_poll_t poll; /* first: the handle's address is the look-up's */
    job_t *job;
    shoal__lookup_cb on_found;
    void *owner;
};

static void drop_job(job_t *job)
{
    if (atomic_fetch_sub(&job->owners, 1) > 1)
        return;
    shoal__notifier_release(&job->done);
    shoal__free(job);
}

static void take_addresses(const struct addrinfo *list,
                           shoal__addresses_t *ret_addresses)
{
    unsigned count = 0;

    for (; list && count < SHOAL__ADDRESSES_MAX; list = list->ai_next) {
        if (list->ai_addrlen > sizeof ret_addresses->items[0].at)
            continue;
        memcpy(&ret_addresses->items[count].at, list->ai_addr, list->ai_addrlen);
        ret_addresses->items[count].bytes = list->ai_addrlen;
        count++;
    }
    ret_addresses->count = count;
}

static int look_up(const char *host, const char *service, int flags,
                   shoal__addresses_t *ret_addresses)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int error;

    hints.ai_flags = flags;
    error = getaddrinfo(host, service, &hints, &list);
    if (error == 0) {
        take_addresses(list, ret_addresses);
        freeaddrinfo(list);
    }
    return error;
}

bool shoal__resolver_numeric(const char *host, int port,
                             shoal__addresses_t *ret_addresses)
{
    char service[8];

    snprintf(service, sizeof service, "%d", port);
    return look_up(host, service, AI_NUMERICHOST | AI_NUMERICSERV, ret_addresses) ==
               0 &&
           ret_addresses->count > 0;
}

void shoal__resolver_unix(const char *path, shoal__addresses_t *ret_addresses)
{
    struct sockaddr_un *at = (struct sockaddr_un *)&ret_addresses->items[0].at;

    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    snprintf(at->sun_path, sizeof at->sun_path, "%s", path);
    ret_addresses->items[0].bytes = sizeof *at;
    ret_addresses->count = 1;
}

static void run_job(void *data)
{
    job_t *job = data;

    job->error = look_up(job->host, job->service, AI_NUMERICSERV, &job->addresses);
    job->system_error = errno;
    atomic_store_explicit(&job->is_done, true, memory_order_release);
    shoal__notifier_signal(&job->done);
    drop_job(job);
}

static void on_handle_closed(uv_handle_t *handle)
{
    shoal__free(handle);
}

void shoal__resolver_abandon(shoal__lookup_t *lookup)
{
    if (!lookup)
        return;
    /* In this order: libuv takes the descriptor out of its set by number. */
    uv_close((uv_handle_t *)&lookup->poll, on_handle_closed);
    drop_job(lookup->job);
    lookup->job = NULL;
}

void shoal__resolver_forget(shoal__lookup_t *lookup)
{
    if (lookup)
        shoal__notifier_release(&lookup->job->done);
}

static void on_done(uv_poll_t *handle, int status, int events)
{
    shoal__lookup_t *lookup = (shoal__lookup_t *)(void *)handle;
    shoal__lookup_cb on_found = lookup->on_found;
    void *owner = lookup->owner;
    shoal__addresses_t addresses;
    int error, system_error;

    (void)status;
    (void)events;
    if (!atomic_load_explicit(&lookup->job->is_done, memory_order_acquire))
        return;
    addresses = lookup->job->addresses;
    error = lookup->job->error;
    system_error = lookup->job->system_error;
    shoal__resolver_abandon(lookup);
    if (error)
        on_found(owner, NULL,
                 error == EAI_SYSTEM ? strerror(system_error) : gai_strerror(error));
    else if (addresses.count == 0)
        on_found(owner, NULL, "the name has no address");
    else
        on_found(owner, &addresses, NULL);
}

shoal__lookup_t *shoal__resolver_lookup(uv_loop_t *loop, const char *host, int port,
                                        shoal__lookup_cb on_found, void *owner)
{
    shoal__lookup_t *lookup = shoal__calloc(1, sizeof *lookup);
    size_t host_bytes = strlen(host) + 1;
    job_t *job = shoal__calloc(1, sizeof *job + host_bytes);

    if (!lookup || !job)
        goto fail;
    atomic_init(&job->owners, 2);
    memcpy(job->host, host, host_bytes);
    snprintf(job->service, sizeof job->service, "%d", port);
    if (shoal__notifier_init(&job->done) < 0)
        goto fail;
    lookup->job = job;
    lookup->on_found = on_found;
    lookup->owner = owner;
    if (uv_poll_init(loop, &lookup->poll, job->done.read_fd) < 0) {
        shoal__notifier_release(&job->done);
        goto fail;
    }
    uv_poll_start(&lookup->poll, UV_READABLE, on_done);
    if (shoal__quiet_thread_detached(run_job, job) < 0) {
        drop_job(job); /* the thread's share */
        shoal__resolver_abandon(lookup);
        return NULL;
    }
    return lookup;

fail:
    shoal__free(lookup);
    shoal__free(job);
    return NULL;
}
