/* SPDX-License-Identifier: MIT */
#include "port.h"

#include <stdatomic.h>
#include <stdlib.h>

/* A pump lets the event loop go on after so many steps or results, if there is more. */
#define STEPS_MAX 4
#define RESULTS_MAX 4096
#define TAKEN_MAX 256
/* A tag is a number with the reply's flags on top. */
#define FLAGS_SHIFT 60

struct shoalpy_port {
    shoalpy_port_view_t view;
    shoalpy_core_t *core;
    shoal_completions_t *completions; /* NULL: the core is borrowed */
    shoalpy_requests_t requests;
    shoalpy_results_t results;
    pthread_t thread; /* that pumped last */
    bool has_lost;    /* memory ran out: results are lost, and the port is of no use */
    uint64_t submitted;   /* tags of the completion queue */
    shoalpy_loan_t *loan; /* of the next submission; or NULL */
};

struct shoalpy_loan {
    atomic_bool is_back;
};

int shoalpy_port_new(shoalpy_core_t *core, size_t outstanding_max,
                     shoalpy_port_t **ret_port)
{
    shoalpy_port_t *port = calloc(1, sizeof *port);
    int rc = 0;

    if (!port)
        return SHOAL_ENOMEM;
    if (core->port) {
        free(port);
        return SHOAL_EINVAL;
    }
    port->core = core;
    port->view.error.size = sizeof port->view.error;
    shoalpy_results_init(&port->results, core->is_borrowed);
    port->thread = pthread_self();
    if (core->is_borrowed) {
        port->view.fd = shoal_client_fd(core->client);
        core->port = port;
    } else {
        rc = shoal_completions_new(outstanding_max, &port->completions);
        if (rc == 0)
            port->view.fd = shoal_completions_fd(port->completions);
    }
    if (rc < 0) {
        free(port);
        return rc;
    }
    *ret_port = port;
    return 0;
}

void shoalpy_port_free(shoalpy_port_t *port)
{
    if (!port)
        return;
    shoal_completions_free(port->completions);
    shoalpy_requests_release(&port->requests);
    shoalpy_results_release(&port->results);
    free(port);
}

const shoalpy_port_view_t *shoalpy_port_view(const shoalpy_port_t *port)
{
    return &port->view;
}

shoalpy_requests_t *shoalpy_port_requests(shoalpy_port_t *port)
{
    return &port->requests;
}

/* ---- results ---- */

static void on_result(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    const shoalpy_way_t *way = data;

    (void)client;
    shoalpy_results_add(way->results, result, way->reply_flags);
}

/* Step the connection.  1: again soon. */
static int64_t step(shoalpy_port_t *port)
{
    int64_t wait_us = 0;

    for (int i = 0; i < STEPS_MAX && wait_us == 0; i++) {
        if (shoalpy_core_step(port->core, 0))
            return SHOAL_ECLOSED;
        wait_us = shoal_client_wait_us(port->core->client);
    }
    return wait_us == 0;
}

/* Take what the thread left.  1: there is more. */
static int64_t take(shoalpy_port_t *port)
{
    shoal_completion_t taken[TAKEN_MAX];
    size_t count, total = 0;

    do {
        count = shoal_completions_take(port->completions, taken, TAKEN_MAX);
        for (size_t i = 0; i < count; i++)
            shoalpy_results_add(&port->results, taken[i].result,
                                (unsigned)(taken[i].tag >> FLAGS_SHIFT));
        total += count;
    } while (count == TAKEN_MAX && total < RESULTS_MAX);
    return count == TAKEN_MAX;
}

/* The event loop may go on in another thread.  A step makes that thread the client's
 * loop thread, so that the submission which follows counts as the loop thread's. */
static void adopt(shoalpy_port_t *port)
{
    if (port->completions || pthread_equal(port->thread, pthread_self()))
        return;
    port->thread = pthread_self();
    (void)shoalpy_core_step(port->core, 0);
}

int64_t shoalpy_port_pump(shoalpy_port_t *port)
{
    port->thread = pthread_self();
    int64_t again = port->completions ? take(port) : step(port);
    int64_t bytes = shoalpy_results_end(&port->results);

    if (bytes < 0)
        port->has_lost = true;
    if (port->has_lost)
        return SHOAL_ENOMEM;
    if (again < 0 && bytes == 0)
        return again;
    port->view.data = port->results.stream.data;
    return bytes * 2 + (again != 0);
}

/* ---- loans ---- */

shoalpy_loan_t *shoalpy_loan_new(void)
{
    return calloc(1, sizeof(shoalpy_loan_t));
}

void shoalpy_loan_free(shoalpy_loan_t *loan)
{
    free(loan);
}

bool shoalpy_loan_is_back(const shoalpy_loan_t *loan)
{
    return atomic_load(&loan->is_back);
}

static void on_release(void *data)
{
    shoalpy_loan_t *loan = data;

    atomic_store(&loan->is_back, true);
}

int shoalpy_port_lend(shoalpy_port_t *port, shoalpy_loan_t *loan,
                      const shoalpy_buffer_t *buffers, size_t count)
{
    port->loan = loan;
    return count > 0 ? shoalpy_requests_lend(&port->requests, buffers, count) : 0;
}

/* ---- commands ---- */

static int submit(shoalpy_port_t *port, const shoal_call_t *call, unsigned reply_flags,
                  uint64_t *ret_ticket)
{
    shoal_client_t *client = port->core->client;
    const shoalpy_requests_t *requests = &port->requests;
    uint64_t tag = (uint64_t)reply_flags << FLAGS_SHIFT;

    if (port->completions)
        return shoal_completions_submit(port->completions, client, requests->commands,
                                        requests->count, call, tag + port->submitted,
                                        ret_ticket);
    return shoal_client_submit_many(client, requests->commands, requests->count, call,
                                    on_result, &port->results.ways[reply_flags],
                                    ret_ticket);
}

/* The commands are queued even if the pump fails: then Python pumps again. */
static int64_t pump_after_submitting(shoalpy_port_t *port)
{
    int64_t outcome = shoalpy_port_pump(port);

    return outcome < 0 ? 1 : outcome;
}

/* The commands that were read, once the core was entered.  0 or an error. */
static int submit_read(shoalpy_port_t *port, shoal_call_t *call, unsigned reply_flags,
                       shoalpy_into_t *into, uint64_t *ret_ticket)
{
    if (reply_flags >= SHOALPY_REPLY_FLAGS)
        return SHOAL_EINVAL;
    if (into) {
        call->chunks = &shoalpy_into_sink;
        call->sink_data = into;
    } else if (!port->completions) {
        call->flags |= SHOAL_CALL_SINK_SHARED;
        call->sink = &shoalpy_results_sink;
        call->sink_data = &port->results.ways[reply_flags];
    }
    return submit(port, call, reply_flags, ret_ticket);
}

int64_t shoalpy_port_submit(shoalpy_port_t *port, const char *stream, size_t bytes,
                            uint32_t call_flags, uint64_t timeout_us,
                            unsigned reply_flags, bool more_follow,
                            const shoalpy_target_t *target, shoalpy_into_t *into)
{
    shoal_call_t call = {.size = sizeof call,
                         .flags = call_flags,
                         .timeout_us = timeout_us,
                         .error = &port->view.error};
    shoalpy_loan_t *loan = port->loan;
    uint64_t ticket = 0;
    int rc = stream ? shoalpy_requests_read(&port->requests, stream, bytes) : 0;

    shoalpy_target_set(target, &call);
    port->loan = NULL;
    port->view.error.text[0] = '\0';
    port->view.refused_at = port->requests.count;
    if (loan && port->requests.has_large) {
        call.on_release = on_release;
        call.release_data = loan;
    }
    if (rc == 0) {
        adopt(port);
        rc = shoalpy_core_enter(port->core);
    }
    if (rc == 0) {
        rc = submit_read(port, &call, reply_flags, into, &ticket);
        shoalpy_core_leave(port->core);
    }
    if (loan && (rc < 0 || !call.on_release))
        on_release(loan); /* it was not needed */
    if (rc < 0)
        return rc;
    port->submitted += port->requests.count;
    port->view.first = shoalpy_number(ticket, port->core->is_borrowed);
    return port->completions || more_follow ? 0 : pump_after_submitting(port);
}

int shoalpy_port_cancel(shoalpy_port_t *port, uint64_t number)
{
    adopt(port);
    return shoal_client_cancel(port->core->client,
                               shoalpy_ticket(number, port->core->is_borrowed));
}
