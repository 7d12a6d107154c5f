/* SPDX-License-Identifier: MIT */

/* A node refuses a command: MOVED and ASK name the node that takes it; other errors say that
 * it is to be sent again later. */

#include "core/redirect.h"
#include "resp/command_slot.h"
#include "route/cluster/log_slot.h"
#include "route/cluster/state.h"

static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
#define ASKING_BYTES (sizeof asking - 1)
/* Its request says so by its data. */
static char asking_mark;

/* Redirected more often, it waits at each second node: those that name each other as owners
 * learn the truth meanwhile. */
#define QUICK_HOPS 2

bool shoal__cluster_is_asking(const shoal__request_t *request)
{
    return request->data == &asking_mark;
}

/* The second part of a unit of ours: ASKING was answered. */
static bool was_asked(const shoal__request_t *request, unsigned slot)
{
    return (request->flags & SHOAL__REQUEST_UNIT) &&
           (request->flags & SHOAL__REQUEST_UNIT_LAST) &&
           !(request->flags & SHOAL__REQUEST_UNIT_FIRST) && slot < SHOAL__SLOTS;
}

/* ASKING and the command, as a unit.  Both have the same flags, because a loss settles each
 * part of a unit by its own. */
static shoal__pipe_verdict_t ask(shoal__node_t *to, const shoal__request_t *request,
                                 const char *bytes, uint64_t now_us)
{
    shoal__pipe_t *pipe = &to->conn.pipe;
    shoal__request_t again = *request, question;

    if (request->attempts + 1 >= SHOAL__HANDOVER_ATTEMPTS_MAX ||
        !shoal__pipe_reserve(pipe, ASKING_BYTES + request->bytes, 2))
        return SHOAL__PIPE_SURFACE;
    again.attempts++;
    again.flags |= SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST;
    question = again;
    question.on_result = NULL;
    question.data = &asking_mark;
    question.extra = NULL;
    question.ticket = 0;
    question.bytes = ASKING_BYTES;
    question.shape = SHOAL__SHAPE_ANY;
    question.flags = (question.flags & (uint16_t)~SHOAL__REQUEST_UNIT_LAST) |
                     SHOAL__REQUEST_UNIT_FIRST;
    /* There is room for both. */
    (void)shoal__pipe_adopt(pipe, &question, asking, now_us);
    (void)shoal__pipe_adopt(pipe, &again, bytes, now_us);
    shoal__conn_touch(&to->conn);
    return SHOAL__PIPE_TAKEN;
}

/* The owner says that another node owns the slot: the next turn heeds that.  Anybody else
 * may be wrong, and a script can write what it likes. */
static void hear_moved(shoal__cluster_t *cluster, shoal__node_t *from, unsigned slot,
                       shoal__node_t *to, bool is_script)
{
    unsigned word = shoal__slot_map_word(&cluster->map, slot);
    bool is_proof = word == from->index && !is_script;

    if (is_proof && cluster->told[slot] == SHOAL__SLOT_NOBODY)
        cluster->told_slots[cluster->told_count++] = (uint16_t)slot;
    if (is_proof)
        cluster->told[slot] = (uint16_t)to->index;
    cluster->is_touched = true;
    shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_SOON, to, from->conn.pipe.now_us);
}

/* Append the command to the node's log; or, while the slot is handed over from the node that
 * refused it, where the others go. */
static shoal__pipe_verdict_t follow(shoal__cluster_t *cluster, shoal__node_t *from,
                                    shoal__node_t *to, unsigned slot,
                                    const shoal__request_t *request, const char *bytes)
{
    const shoal__slot_move_t *move =
        shoal__handovers_move_of(&cluster->handovers, slot);
    uint64_t now_us = from->conn.pipe.now_us;
    shoal__pipe_t *pipe = &to->conn.pipe;
    shoal__conn_t *conn = &to->conn;

    if (move && move->from == &from->conn.pipe) {
        pipe = move->to;
        conn = move->to_conn;
    }
    if (pipe == &from->conn.pipe ||
        shoal__handover_redirect(pipe, request, bytes, now_us) == SHOAL__PIPE_SURFACE)
        return SHOAL__PIPE_SURFACE;
    if (conn)
        shoal__conn_touch(conn);
    return SHOAL__PIPE_TAKEN;
}

static shoal__pipe_verdict_t redirect(shoal__cluster_t *cluster, shoal__node_t *from,
                                      const shoal__slot_redirect_t *named,
                                      const shoal__request_t *request,
                                      const char *bytes)
{
    static const char text[] = "TRYAGAIN nodes name each other as owners of the slot";
    static const shoal__bytes_t in_circles = {text, sizeof text - 1};
    shoal__pipe_t *pipe = &from->conn.pipe;
    const char *host = named->to.host[0] ? named->to.host : from->host;
    shoal__node_t *to;

    if (named->to.port == 0) { /* the next view will say */
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, pipe->now_us);
        return shoal__pipe_send_again(pipe, request, bytes, in_circles);
    }
    to = shoal__nodes_find(&cluster->nodes, host, named->to.port,
                           &from->conn.line->reached.address);
    if (!to)
        return SHOAL__PIPE_SURFACE;
    if (!to->is_listed && to->named_us == 0) {
        to->named_us = pipe->now_us;
        to->named_by = from->index;
    }
    if (named->is_ask)
        return ask(to, request, bytes, pipe->now_us);
    hear_moved(cluster, from, named->slot, to,
               request->command_class == SHOAL__CLASS_SCRIPT);
    if (to == from || (request->attempts >= QUICK_HOPS && request->attempts % 2 == 1 &&
                       request->attempts + 1 < SHOAL__HANDOVER_ATTEMPTS_MAX)) {
        shoal__request_t again = *request;
        again.attempts++;
        return shoal__pipe_send_again(pipe, &again, bytes, in_circles);
    }
    return follow(cluster, from, to, named->slot, request, bytes);
}

/* A refusal that names nobody.  A command that was asked goes on where it came from. */
static shoal__pipe_verdict_t refuse(shoal__cluster_t *cluster, shoal__node_t *from,
                                    bool is_asked, unsigned slot,
                                    const shoal__request_t *request, const char *bytes,
                                    shoal__bytes_t error)
{
    uint64_t now_us = from->conn.pipe.now_us;
    unsigned owner = slot < SHOAL__SLOTS ? shoal__slot_map_owner(&cluster->map, slot)
                                         : SHOAL__SLOT_NOBODY;
    shoal__node_t *node = is_asked && owner != SHOAL__SLOT_NOBODY
                              ? shoal__cluster_node(cluster, owner)
                              : from;
    shoal__pipe_verdict_t verdict;

    node->conn.pipe.now_us = now_us;
    verdict = shoal__conn_send_again(&node->conn, request, bytes, error);
    if (verdict == SHOAL__PIPE_SURFACE)
        return verdict;
    shoal__conn_touch(&node->conn);
    if (!shoal__bytes_start(error, "TRYAGAIN"))
        shoal__cluster_want_view(cluster, SHOAL__TOPOLOGY_URGENT, NULL, now_us);
    return verdict;
}

shoal__pipe_verdict_t shoal__cluster_on_error(void *owner, shoal__pipe_t *pipe,
                                              const shoal__request_t *request,
                                              const char *bytes, shoal__bytes_t error)
{
    shoal__node_t *from = owner;
    shoal__cluster_t *cluster = from->owner;
    shoal__slot_redirect_t named;
    shoal__request_t again = *request;
    unsigned slot = shoal__log_slot(request, bytes);
    bool is_hidden = slot == SHOAL__SLOT_NONE && shoal__request_values(request);
    bool is_asked = was_asked(request, slot);

    (void)pipe; /* the connection's */
    if (shoal__cluster_is_asking(request))
        return SHOAL__PIPE_SURFACE;
    if (is_asked)
        again.flags &= (uint16_t) ~(SHOAL__REQUEST_UNIT | SHOAL__REQUEST_UNIT_LAST);
    if (!shoal__redirect_read_slot(error, &named))
        return refuse(cluster, from, is_asked, slot, &again, bytes, error);
    /* A script can write such a text, and a proxy mix replies up.  A key may stand behind a
     * large value, which the log does not have. */
    if ((slot != named.slot && !is_hidden) ||
        (again.flags & (SHOAL__REQUEST_UNIT | SHOAL__REQUEST_ONCE)))
        return SHOAL__PIPE_SURFACE;
    return redirect(cluster, from, &named, &again, bytes);
}
