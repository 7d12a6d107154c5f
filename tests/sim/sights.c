/* SPDX-License-Identifier: MIT */

/* Figures on what the seeds have seen. */

#include "base/time_us.h"
#include "sim/world.h"
#include <inttypes.h>
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

void sim_sights_note_result(sim_world_t *world, const sim_call_t *call,
                            const shoal_result_t *result)
{
    sim_sights_t *sights = &world->sights;

    sights->fates[result->fate]++;
    if (result->status == 0 && !result->reply)
        sights->sink_replies++;
    else if (result->status == 0 &&
             shoal_reply_type(result->reply) == SHOAL_REPLY_ERROR)
        sights->errors++;
    else if (result->status == 0)
        sights->values++;
    sights->retried += result->attempts > 1;
    sights->lent += call->is_lent;
    sights->timeouts += result->status == SHOAL_ETIMEOUT;
    sights->cancels += result->status == SHOAL_ECANCELLED;
    sights->shutdowns += result->status == SHOAL_ESHUTDOWN;
    sights->cut_units += call->verb == SIM_VERB_EXEC &&
                         result->fate == SHOAL_FATE_NOT_EXECUTED && call[-1].handed > 0;
}

void sim_sights_note_loss(sim_world_t *world, int status, const char *detail)
{
    sim_sights_t *sights = &world->sights;
    const sim_link_t *link = world->link;

    sights->partly_written += world->pipe.part_bytes > 0;
    sights->desyncs += status == SHOAL_EDESYNC;
    sights->silences += strstr(detail, "stopped answering") != NULL;
    sights->torn += world->pipe.is_torn;
    sights->ready_links += link && world->pipe.phase == SHOAL__PIPE_READY;
}

void sim_sights_note_end(sim_world_t *world)
{
    world->sights.links += world->links;
    world->sights.pushes += shoal__counter_get(&world->pipe.stats.pushes);
    world->sights.rest_bytes += shoal__counter_get(&world->pipe.stats.bytes_copied);
}

void sim_sights_print(const sim_sights_t *sights)
{
    printf("results   %" PRIu64 " values, %" PRIu64 " to sinks, %" PRIu64
           " errors; %" PRIu64 " not executed, %" PRIu64 " unknown, %" PRIu64
           " reply lost\n",
           sights->values, sights->sink_replies, sights->errors,
           sights->fates[SHOAL_FATE_NOT_EXECUTED], sights->fates[SHOAL_FATE_UNKNOWN],
           sights->fates[SHOAL_FATE_REPLY_LOST]);
    printf("causes    %" PRIu64 " timed out, %" PRIu64 " cancelled, %" PRIu64
           " shut down, %" PRIu64 " sent again, %" PRIu64 " units cut\n",
           sights->timeouts, sights->cancels, sights->shutdowns, sights->retried,
           sights->cut_units);
    printf("links     %" PRIu64 " opened, %" PRIu64 " lost when ready, %" PRIu64
           " inside a command; %" PRIu64 " silent, %" PRIu64 " desyncs, %" PRIu64
           " renewals\n",
           sights->links, sights->ready_links, sights->partly_written, sights->silences,
           sights->desyncs, sights->renewals);
    printf("faults   ");
    for (unsigned i = 0; i < SIM_FAULT_COUNT; i++)
        printf(" %" PRIu64 " %s,", sights->faults[i], sim_fault_name(i));
    printf(" %" PRIu64 " links spoilt, %" PRIu64 " poisoned\n", sights->spoilt_links,
           sights->poisoned);
    printf("cuts      replies cut behind %d of their first 64 bytes\n",
           __builtin_popcountll(sights->cuts));
    printf("memory    %" PRIu64 " commands refer to it, %" PRIu64
           " bytes were copied as they were given up, %" PRIu64
           " links lost for that\n",
           sights->lent, sights->rest_bytes, sights->torn);
    printf("others    %" PRIu64 " pushes, %" PRIu64 " pings, %" PRIu64
           " commands executed after the loss; %" PRIu64 " rests\n",
           sights->pushes, sights->pings, sights->ghost_commands, sights->rests);
}
