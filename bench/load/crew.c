/* SPDX-License-Identifier: MIT */
#include "load/crew.h"

#include <stdlib.h>

#define STACK_BYTES ((size_t)256 * 1024)

int crew_start(crew_t *crew, run_t *run, size_t count, void *(*work)(void *member),
               void *members, size_t member_bytes)
{
    pthread_attr_t attributes;

    *crew = (crew_t){.threads = calloc(count, sizeof *crew->threads)};
    if (!crew->threads || pthread_attr_init(&attributes) != 0)
        return run_fail(run, "threads cannot be started");
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (crew->count < count &&
           pthread_create(&crew->threads[crew->count], &attributes, work,
                          (char *)members + crew->count * member_bytes) == 0)
        crew->count++;
    pthread_attr_destroy(&attributes);
    return crew->count == count ? 0 : run_fail(run, "threads cannot be started");
}

void crew_join(crew_t *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        pthread_join(crew->threads[i], NULL);
    free(crew->threads);
    *crew = (crew_t){0};
}
