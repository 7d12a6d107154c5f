/* SPDX-License-Identifier: MIT */
#include "route/cluster/bulk.h"

#include "base/alloc.h"

shoal__bulk_t *shoal__bulk_new(const shoal__conn_plan_t *plan)
{
    shoal__bulk_t *bulk = shoal__calloc(1, sizeof *bulk);

    if (!bulk)
        return NULL;
    if (shoal__conn_init(&bulk->conn, plan) < 0) {
        shoal__free(bulk);
        return NULL;
    }
    shoal__list_init(&bulk->listed);
    return bulk;
}

void shoal__bulk_free(shoal__bulk_t *bulk)
{
    if (!bulk)
        return;
    shoal__lane_slots_release(&bulk->slots);
    shoal__conn_release(&bulk->conn);
    shoal__free(bulk);
}
