/* SPDX-License-Identifier: MIT */
#include "net/quiet_thread.h"

#include "base/alloc.h"
#include <errno.h>
#include <signal.h>

typedef struct start {
    void (*run)(void *data);
    void *data;
} start_t;

static void *thread_main(void *data)
{
    start_t start = *(start_t *)data;

    shoal__free(data);
    start.run(start.data);
    return NULL;
}

int shoal__quiet_thread_start(pthread_t *ret_thread, void (*run)(void *data),
                              void *data)
{
    sigset_t blocked, before;
    start_t *start = shoal__malloc(sizeof *start);
    int error;

    if (!start)
        return -ENOMEM;
    start->run = run;
    start->data = data;
    /* The new thread inherits the mask; faults of its own stay deliverable. */
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    error = pthread_create(ret_thread, NULL, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        shoal__free(start);
    return -error;
}

int shoal__quiet_thread_detached(void (*run)(void *data), void *data)
{
    pthread_t thread;
    int rc = shoal__quiet_thread_start(&thread, run, data);

    if (rc == 0)
        pthread_detach(thread);
    return rc;
}
