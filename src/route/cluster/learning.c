/* SPDX-License-Identifier: MIT */

/* Commands that the table does not know: a node says where their keys stand. */

#include "resp/command_answer.h"
#include "route/cluster/state.h"
#include "route/errand.h"

/* An error is an answer: the user may not ask, or the server is no such one. */
static void on_answer(shoal_client_t *client, const shoal_result_t *result, void *data)
{
    shoal__book_page_t *page = data;

    (void)client;
    if (result->status < 0)
        shoal__book_ask_again(page);
    else
        shoal__book_answer(
            page, shoal__command_answer_read(shoal_reply_at(result->reply, 0)));
}

/* False: no memory. */
static bool ask(shoal__node_t *node, shoal__book_page_t *page, uint64_t now_us)
{
    const char *const words[] = {"COMMAND", "INFO", page->name};
    const shoal_command_t command = {3, words, NULL};
    const shoal__errand_t errand = {.on_answer = on_answer, .data = page};

    return shoal__errand_send(&node->conn, &command, &errand, now_us);
}

void shoal__cluster_learn(shoal__cluster_t *cluster, uint64_t now_us)
{
    while (shoal__book_wants(&cluster->book)) {
        shoal__node_t *node = shoal__cluster_keyless(cluster);
        shoal__book_page_t *page = node ? shoal__book_ask(&cluster->book) : NULL;
        if (!page)
            return;
        if (!ask(node, page, now_us)) {
            shoal__book_ask_again(page);
            return;
        }
    }
}
