/* SPDX-License-Identifier: MIT */
#include "support/result_queue.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

result_queue_t *result_queue_new(scene_t *scene, size_t outstanding_max)
{
    result_queue_t *queue = scene_alloc(scene, sizeof *queue);
    queue->scene = scene;
    assert_int_equal(shoal_completions_new(outstanding_max, &queue->completions), 0);
    return queue;
}

bool result_queue_is_readable(const result_queue_t *queue)
{
    struct pollfd slot = {.fd = shoal_completions_fd(queue->completions),
                          .events = POLLIN};
    return poll(&slot, 1, 0) == 1;
}

void result_queue_submit(const result_queue_t *queue, shoal_command_t command,
                         uint64_t tag)
{
    assert_int_equal(shoal_completions_submit(queue->completions, queue->scene->client,
                                              &command, 1, NULL, tag, NULL),
                     0);
}

void result_queue_submit_numbers(const result_queue_t *queue, uint64_t first_tag,
                                 size_t count)
{
    shoal_command_t commands[RESULT_BATCH_MAX];
    const char *argv[RESULT_BATCH_MAX][2];
    char texts[RESULT_BATCH_MAX][24];

    assert_true(count <= RESULT_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "%" PRIu64, first_tag + i);
        argv[i][0] = "ECHO";
        argv[i][1] = texts[i];
        commands[i] = (shoal_command_t){2, argv[i], NULL};
    }
    assert_int_equal(shoal_completions_submit(queue->completions, queue->scene->client,
                                              commands, count, NULL, first_tag, NULL),
                     0);
}

void result_queue_wait(const result_queue_t *queue)
{
    int rc;
    do
        rc = shoal_completions_wait(queue->completions, WAITING_US_MAX);
    while (rc == SHOAL_EINTR);
    assert_int_equal(rc, 0);
}

size_t result_queue_take(result_queue_t *queue, size_t count_max)
{
    return shoal_completions_take(queue->completions, queue->batch, count_max);
}

void result_queue_check(const result_queue_t *queue, size_t index, uint64_t tag)
{
    outcome_t outcome = {0};
    char text[24];

    assert_int_equal(queue->batch[index].tag, tag);
    outcome_read(&outcome, queue->batch[index].result);
    outcome.calls = 1;
    snprintf(text, sizeof text, "%" PRIu64, tag);
    scene_check_text(&outcome, text);
}
