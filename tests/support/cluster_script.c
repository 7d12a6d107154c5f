/* SPDX-License-Identifier: MIT */
#include "support/cluster_script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    struct text *next;
    size_t bytes, room;
    char *data;
} text_t;

static text_t *texts;

/* Texts of rules outlive the servers. */
static text_t *new_text(void)
{
    text_t *text = fake_must(calloc(1, sizeof *text));

    text->next = texts;
    texts = text;
    text->room = 4096;
    text->data = fake_must(calloc(1, text->room));
    return text;
}

static void __attribute__((format(printf, 2, 3)))
add(text_t *text, const char *format, ...)
{
    va_list list;

    if (text->room - text->bytes < 1024)
        text->data = fake_must(realloc(text->data, text->room *= 2));
    va_start(list, format);
    text->bytes += (size_t)vsnprintf(text->data + text->bytes, text->room - text->bytes,
                                     format, list);
    va_end(list);
}

static const char *host_of(const script_node_t *node)
{
    return node->host ? node->host : "127.0.0.1";
}

static void add_string(text_t *text, const char *string)
{
    add(text, "$%zu\r\n%s\r\n", strlen(string), string);
}

static void add_more(text_t *text, const char *name, const char *value)
{
    if (!value)
        return;
    add_string(text, name);
    add_string(text, value);
}

static void add_node(text_t *text, const script_node_t *node)
{
    add(text, "*4\r\n");
    if (host_of(node)[0])
        add_string(text, host_of(node));
    else
        add(text, "$-1\r\n");
    add(text, ":%d\r\n", node->port);
    add_string(text, node->id);
    add(text, "*%d\r\n", (node->hostname ? 2 : 0) + (node->ip ? 2 : 0));
    add_more(text, "hostname", node->hostname);
    add_more(text, "ip", node->ip);
}

static bool owns_slots(const script_node_t *node)
{
    return !node->primary && node->first <= node->last;
}

static bool is_replica_of(const script_node_t *node, const script_node_t *primary)
{
    return node->primary && strcmp(node->primary, primary->id) == 0;
}

static const char *write_slots(const script_node_t *nodes, size_t count)
{
    text_t *text = new_text();
    size_t ranges = 0;

    for (size_t i = 0; i < count; i++)
        ranges += owns_slots(&nodes[i]);
    add(text, "*%zu\r\n", ranges);
    for (size_t i = 0; i < count; i++) {
        size_t replicas = 0;
        if (!owns_slots(&nodes[i]))
            continue;
        for (size_t j = 0; j < count; j++)
            replicas += is_replica_of(&nodes[j], &nodes[i]);
        add(text, "*%zu\r\n:%u\r\n:%u\r\n", 3 + replicas, nodes[i].first,
            nodes[i].last);
        add_node(text, &nodes[i]);
        for (size_t j = 0; j < count; j++)
            if (is_replica_of(&nodes[j], &nodes[i]))
                add_node(text, &nodes[j]);
    }
    return text->data;
}

static const char *write_nodes(const script_node_t *nodes, size_t count)
{
    text_t *lines = new_text(), *text = new_text();

    for (size_t i = 0; i < count; i++) {
        const script_node_t *node = &nodes[i];
        add(lines, "%s %s:%d@1", node->id, host_of(node), node->port);
        if (node->hostname)
            add(lines, ",%s", node->hostname);
        add(lines, " %s%s %s 0 0 %llu connected", node->is_myself ? "myself," : "",
            node->primary ? "slave" : "master", node->primary ? node->primary : "-",
            node->epoch);
        if (owns_slots(node))
            add(lines, " %u-%u", node->first, node->last);
        add(lines, "\n");
    }
    text->room += lines->bytes;
    text->data = fake_must(realloc(text->data, text->room));
    text->bytes = (size_t)snprintf(text->data, text->room, "$%zu\r\n%s\r\n",
                                   lines->bytes, lines->data);
    return text->data;
}

size_t script_say_late(fake_server_t *server, const script_node_t *nodes, size_t count,
                       uint64_t delay_us)
{
    size_t rule;

    fake_server_prepare_rules(server);
    rule = fake_server_rule(server, &(fake_rule_t){.command = "CLUSTER",
                                                   .argument = "SLOTS",
                                                   .delay_us = delay_us,
                                                   .reply = write_slots(nodes, count)});
    fake_server_rule(server, &(fake_rule_t){.command = "CLUSTER",
                                            .argument = "NODES",
                                            .reply = write_nodes(nodes, count)});
    fake_server_forget_rules(server);
    return rule;
}

size_t script_say(fake_server_t *server, const script_node_t *nodes, size_t count)
{
    return script_say_late(server, nodes, count, 0);
}

const char *script_redirect(const char *word, unsigned slot, int port)
{
    text_t *text = new_text();

    add(text, "-%s %u 127.0.0.1:%d\r\n", word, slot, port);
    return text->data;
}

void script_forget(void)
{
    while (texts) {
        text_t *text = texts;
        texts = text->next;
        free(text->data);
        free(text);
    }
}
