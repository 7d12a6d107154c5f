/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_TESTS_RESULT_QUEUE_H
#define SHOAL_TESTS_RESULT_QUEUE_H

/* A completion queue and echoes of numbers through it: tag n has the text n. */

#include "support/scene.h"
#include <shoal/shoal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESULT_BATCH_MAX 256

typedef struct result_queue {
    scene_t *scene;                   /* its client takes the commands */
    shoal_completions_t *completions; /* the test frees it */
    shoal_completion_t batch[RESULT_BATCH_MAX];
} result_queue_t;

/* The queue is in the scene's memory.  outstanding_max 0: the library's default. */
result_queue_t *result_queue_new(scene_t *scene, size_t outstanding_max);
bool result_queue_is_readable(const result_queue_t *queue);

void result_queue_submit(const result_queue_t *queue, shoal_command_t command,
                         uint64_t tag);
/* Submit `count` echoes, RESULT_BATCH_MAX at most, with tags from first_tag on. */
void result_queue_submit_numbers(const result_queue_t *queue, uint64_t first_tag,
                                 size_t count);

/* Block until there is something to take. */
void result_queue_wait(const result_queue_t *queue);
size_t result_queue_take(result_queue_t *queue, size_t count_max);
/* Fail the test unless result `index` of the batch is the echo with this tag. */
void result_queue_check(const result_queue_t *queue, size_t index, uint64_t tag);

#endif
