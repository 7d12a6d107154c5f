/* SPDX-License-Identifier: MIT */

/* The checked longjmp takes a jump between two stacks for a mistake. */
#undef _FORTIFY_SOURCE

#include "interleave/coroutine.h"

#include <stdlib.h>
#include <ucontext.h>

#define STACK_BYTES 131072

/* Where the running coroutine goes back to: its resumer, perhaps a coroutine, too. */
static jmp_buf *resumer;
static coroutine_t *made;

/* A stack once made keeps this frame at its bottom for good. */
static void run(void)
{
    coroutine_t *volatile coroutine = made; /* outlives the jumps */

    (void)_setjmp(coroutine->bottom);
    if (_setjmp(coroutine->here) == 0)
        _longjmp(*resumer, 1);
    coroutine->body(coroutine->data);
    _longjmp(*resumer, 1);
}

static bool make(coroutine_t *coroutine)
{
    jmp_buf here, *former = resumer;
    ucontext_t context;

    coroutine->stack = malloc(STACK_BYTES);
    if (!coroutine->stack || getcontext(&context) < 0)
        return false;
    context.uc_stack.ss_sp = coroutine->stack;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = NULL;
    makecontext(&context, run, 0);
    made = coroutine;
    resumer = &here;
    if (_setjmp(here) == 0)
        setcontext(&context);
    resumer = former;
    return true;
}

bool coroutine_start(coroutine_t *coroutine, void (*body)(void *data), void *data)
{
    jmp_buf here, *former = resumer;

    coroutine->body = body;
    coroutine->data = data;
    if (!coroutine->stack)
        return make(coroutine);
    resumer = &here;
    if (_setjmp(here) == 0)
        _longjmp(coroutine->bottom, 1);
    resumer = former;
    return true;
}

void coroutine_resume(coroutine_t *coroutine)
{
    jmp_buf here, *former = resumer;

    resumer = &here;
    if (_setjmp(here) == 0)
        _longjmp(coroutine->here, 1);
    resumer = former;
}

void coroutine_yield(coroutine_t *coroutine)
{
    if (_setjmp(coroutine->here) == 0)
        _longjmp(*resumer, 1);
}
