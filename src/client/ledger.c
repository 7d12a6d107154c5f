/* SPDX-License-Identifier: MIT */
#include "client/ledger.h"

void shoal__ledger_init(shoal__ledger_t *ledger, const shoal__account_t *route,
                        uint64_t queued_max, uint64_t bytes_max)
{
    *ledger = (shoal__ledger_t){
        .route = route, .queued_max = queued_max, .bytes_max = bytes_max};
}

void shoal__ledger_fail_unplaced(shoal__ledger_t *ledger, shoal_client_t *client,
                                 const shoal__request_t *request, int status,
                                 const char *detail)
{
    const shoal_result_t result = {.status = status,
                                   .fate = SHOAL_FATE_NOT_EXECUTED,
                                   .detail = detail,
                                   .tag = request->tag,
                                   .ticket = request->ticket};

    shoal__counter_add(&ledger->unplaced, 1);
    shoal__extra_drop(request->extra);
    shoal__ledger_complete(ledger, client, request, &result);
}
