/* SPDX-License-Identifier: MIT */
#include "net/provider.h"

#include "base/alloc.h"
#include "net/fork_guard.h"
#include "net/notifier.h"
#include "net/quiet_thread.h"
#include <shoal/errors.h>
#include <stdatomic.h>

enum {
    OPEN,      /* nobody has answered */
    ABANDONED, /* ... and nobody wants to know */
    ANSWERING, /* a thread fills the answer in */
    ANSWERED
};

/* What the provider's thread, whoever answers, and the loop share: freed by whichever is the
 * last. */
struct shoal_credentials_request {
    atomic_int owners;
    atomic_int state;
    uint64_t fork_generation;
    shoal__notifier_t done;
    shoal_credentials_fn fn;
    void *data;
    shoal__provider_answer_t answer;
};

struct shoal__question {
    uv_poll_t poll; /* first: the handle's address is the question's */
    shoal_credentials_request_t *request;
    shoal__answer_cb on_answer;
    void *owner;
};

static void drop(shoal_credentials_request_t *request)
{
    if (atomic_fetch_sub(&request->owners, 1) > 1)
        return;
    shoal__secret_clear(&request->answer.secret);
    shoal__notifier_release(&request->done);
    shoal__free(request);
}

static bool step(shoal_credentials_request_t *request, int from, int to)
{
    return atomic_compare_exchange_strong(&request->state, &from, to);
}

int shoal__provider_answer(shoal_credentials_request_t *request,
                           shoal__provider_answer_t *answer)
{
    int rc = SHOAL_EINVAL;

    if (request->fork_generation != shoal__fork_generation())
        rc = SHOAL_EFORK;
    else if (step(request, OPEN, ANSWERING)) {
        request->answer = *answer;
        answer->secret = (shoal__secret_t){.user = NULL};
        atomic_store(&request->state, ANSWERED);
        shoal__notifier_signal(&request->done);
        rc = 0;
    } else if (step(request, ABANDONED, ANSWERED)) {
        rc = SHOAL_ECANCELLED;
    }
    shoal__secret_clear(&answer->secret);
    if (rc == 0 || rc == SHOAL_ECANCELLED)
        drop(request);
    return rc;
}

/* ---- the thread ---- */

static void run(void *data)
{
    shoal_credentials_request_t *request = data;

    /* Nobody will answer what the program has not seen. */
    if (atomic_load(&request->state) == ABANDONED)
        drop(request);
    else
        request->fn(request, request->data);
    drop(request);
}

/* ---- the loop ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    shoal__free(handle);
}

/* In this order: libuv takes the descriptor out of its set by number; and the child of a
 * fork never sees a request that was given back. */
static void end(shoal__question_t *question)
{
    shoal_credentials_request_t *request = question->request;

    uv_close((uv_handle_t *)&question->poll, on_handle_closed);
    question->request = NULL;
    drop(request);
}

void shoal__provider_abandon(shoal__question_t *question)
{
    if (!question)
        return;
    step(question->request, OPEN, ABANDONED);
    end(question);
}

void shoal__provider_forget(shoal__question_t *question)
{
    if (question && question->request)
        shoal__notifier_release(&question->request->done);
}

void shoal__provider_look(shoal__question_t *question)
{
    shoal__answer_cb on_answer = question ? question->on_answer : NULL;
    void *owner = question ? question->owner : NULL;
    shoal__provider_answer_t answer;

    if (!question || atomic_load(&question->request->state) != ANSWERED)
        return;
    answer = question->request->answer;
    question->request->answer.secret = (shoal__secret_t){.user = NULL};
    end(question);
    on_answer(owner, &answer);
    shoal__secret_clear(&answer.secret);
}

static void on_done(uv_poll_t *handle, int status, int events)
{
    (void)status;
    (void)events;
    shoal__provider_look((shoal__question_t *)(void *)handle);
}

shoal__question_t *shoal__provider_ask(uv_loop_t *loop, shoal_credentials_fn fn,
                                       void *data, shoal__answer_cb on_answer,
                                       void *owner)
{
    shoal__question_t *question = shoal__calloc(1, sizeof *question);
    shoal_credentials_request_t *request = shoal__calloc(1, sizeof *request);

    if (!question || !request || shoal__notifier_init(&request->done) < 0)
        goto fail;
    atomic_init(&request->owners, 3);
    atomic_init(&request->state, OPEN);
    request->fork_generation = shoal__fork_generation();
    request->fn = fn;
    request->data = data;
    question->request = request;
    question->on_answer = on_answer;
    question->owner = owner;
    if (uv_poll_init(loop, &question->poll, request->done.read_fd) < 0) {
        shoal__notifier_release(&request->done);
        goto fail;
    }
    uv_poll_start(&question->poll, UV_READABLE, on_done);
    if (shoal__quiet_thread_detached(run, request) < 0) {
        drop(request); /* the thread's share, and that of the answer */
        drop(request);
        end(question);
        return NULL;
    }
    return question;

fail:
    shoal__free(question);
    shoal__free(request);
    return NULL;
}
