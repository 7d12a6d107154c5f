/* SPDX-License-Identifier: MIT */
#include "core/cluster/slots_reply.h"

#include "core/description.h"
#include "resp/key_slot.h"

#define PORT_MAX 65535
#define SLOT_MAX (SHOAL__SLOTS - 1)
#define FIRST_NODE 2 /* behind the two ends of the range */

/* ---- CLUSTER SLOTS ---- */

static bool is_number(const shoal_reply_t *reply, int64_t max)
{
    return shoal_reply_type(reply) == SHOAL_REPLY_INTEGER &&
           shoal_reply_integer(reply) >= 0 && shoal_reply_integer(reply) <= max;
}

static bool read_host(const shoal_reply_t *reply, char host[SHOAL__NODE_HOST_BYTES])
{
    shoal__bytes_t text = shoal__text_of(reply);

    host[0] = '\0';
    return text.bytes == 0 ? shoal_reply_type(reply) == SHOAL_REPLY_NIL ||
                                 shoal_reply_type(reply) == SHOAL_REPLY_STRING
                           : shoal__text_read_word(text, host, SHOAL__NODE_HOST_BYTES);
}

/* One more word that is known of a node; "": it is not. */
static void read_more(const shoal_reply_t *reply, const char *name,
                      char word[SHOAL__NODE_HOST_BYTES])
{
    if (!shoal__text_read_word(shoal__description_value(shoal_reply_at(reply, 3), name),
                               word, SHOAL__NODE_HOST_BYTES) ||
        strcmp(word, "?") == 0)
        word[0] = '\0';
}

/* Host, port, id, and perhaps more.  Nodes that are to be called by a name, and have none, are
 * "?", and their address stands behind. */
static bool read_node(const shoal_reply_t *reply, shoal__slots_node_t *node)
{
    *node = (shoal__slots_node_t){.port = 0};
    if (shoal_reply_type(reply) != SHOAL_REPLY_ARRAY || shoal_reply_count(reply) < 3 ||
        !read_host(shoal_reply_at(reply, 0), node->host) ||
        !is_number(shoal_reply_at(reply, 1), PORT_MAX) ||
        !shoal__text_read_word(shoal__text_of(shoal_reply_at(reply, 2)), node->id,
                               sizeof node->id))
        return false;
    read_more(reply, "hostname", node->hostname);
    read_more(reply, "ip", node->ip);
    if (strcmp(node->host, "?") == 0 && node->ip[0])
        memcpy(node->host, node->ip, sizeof node->host);
    if (strcmp(node->host, "?") != 0)
        node->port = (int)shoal_reply_integer(shoal_reply_at(reply, 1));
    return true;
}

static bool is_range(const shoal_reply_t *reply)
{
    shoal__slots_node_t node;

    if (shoal_reply_type(reply) != SHOAL_REPLY_ARRAY ||
        shoal_reply_count(reply) <= FIRST_NODE ||
        !is_number(shoal_reply_at(reply, 1), SHOAL__SLOTS - 1) ||
        !is_number(shoal_reply_at(reply, 0),
                   shoal_reply_integer(shoal_reply_at(reply, 1))))
        return false;
    for (size_t i = FIRST_NODE; i < shoal_reply_count(reply); i++)
        if (!read_node(shoal_reply_at(reply, i), &node))
            return false;
    return true;
}

bool shoal__slots_reply_is_whole(const shoal_reply_t *reply)
{
    uint8_t there[SHOAL__SLOTS / 8] = {0}; /* a bit for each slot */

    if (shoal_reply_type(reply) != SHOAL_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        if (!is_range(shoal_reply_at(reply, i)))
            return false;
        shoal__slots_range_t range = shoal__slots_reply_range(reply, i);
        for (unsigned slot = range.first; slot <= range.last; slot++) {
            if (there[slot / 8] & 1u << slot % 8)
                return false;
            there[slot / 8] |= (uint8_t)(1u << slot % 8);
        }
    }
    return true;
}

shoal__slots_range_t shoal__slots_reply_range(const shoal_reply_t *reply, size_t range)
{
    const shoal_reply_t *item = shoal_reply_at(reply, range);

    return (shoal__slots_range_t){
        .first = (unsigned)shoal_reply_integer(shoal_reply_at(item, 0)),
        .last = (unsigned)shoal_reply_integer(shoal_reply_at(item, 1)),
        .nodes = shoal_reply_count(item) - FIRST_NODE};
}

void shoal__slots_reply_node(const shoal_reply_t *reply, size_t range, size_t node,
                             shoal__slots_node_t *ret_node)
{
    (void)read_node(shoal_reply_at(shoal_reply_at(reply, range), FIRST_NODE + node),
                    ret_node);
}

/* ---- CLUSTER NODES ---- */

/* What is before the next `end`, which is taken away, too. */
static shoal__bytes_t cut_off(shoal__bytes_t *text, char end)
{
    const char *at = text->bytes ? memchr(text->data, end, text->bytes) : NULL;
    size_t bytes = at ? (size_t)(at - text->data) : text->bytes;
    shoal__bytes_t part = {text->data, bytes};

    text->bytes -= at ? bytes + 1 : bytes;
    text->data += at ? bytes + 1 : bytes;
    return part;
}

/* Id, address, flags, primary, ping, pong, epoch, link, slots. */
static bool read_line(shoal__bytes_t line, shoal__nodes_line_t *ret)
{
    shoal__bytes_t id = cut_off(&line, ' '), flags, epoch;

    cut_off(&line, ' ');
    flags = cut_off(&line, ' ');
    for (unsigned i = 0; i < 3; i++)
        cut_off(&line, ' ');
    *ret = (shoal__nodes_line_t){
        .is_primary = shoal__text_has_flag(flags, "master"),
        .is_failed = shoal__text_has_flag(flags, "fail"),
        .is_myself = shoal__text_has_flag(flags, "myself"),
    };
    epoch = cut_off(&line, ' ');
    cut_off(&line, ' ');
    ret->slots = line;
    return shoal__text_read_word(id, ret->id, sizeof ret->id) &&
           shoal__text_read_number(epoch, UINT64_MAX, &ret->epoch) &&
           (ret->is_primary || shoal__text_has_flag(flags, "slave")) &&
           !shoal__text_has_flag(flags, "handshake") &&
           !shoal__text_has_flag(flags, "noaddr");
}

bool shoal__nodes_reply_next(shoal__bytes_t *text, shoal__nodes_line_t *ret_line)
{
    while (text->bytes > 0)
        if (read_line(cut_off(text, '\n'), ret_line))
            return true;
    return false;
}

/* "7000", "0-5460", "[5461-<-id]", "[5461->-id]". */
static bool read_slots(shoal__bytes_t text, shoal__nodes_slots_t *ret)
{
    bool is_open = text.bytes > 0 && text.data[0] == '[';
    shoal__bytes_t rest = {text.data + is_open, text.bytes - is_open}, first;
    uint64_t from, to;

    first = cut_off(&rest, '-');
    if (!shoal__text_read_number(first, SLOT_MAX, &from) ||
        (is_open && (rest.bytes == 0 || rest.data[0] != '<')))
        return false;
    to = from;
    if (!is_open && rest.bytes > 0 && !shoal__text_read_number(rest, SLOT_MAX, &to))
        return false;
    *ret = (shoal__nodes_slots_t){(unsigned)from, (unsigned)to, is_open, text};
    return from <= to;
}

bool shoal__nodes_slots_next(shoal__bytes_t *slots, shoal__nodes_slots_t *ret_slots)
{
    while (slots->bytes > 0)
        if (read_slots(cut_off(slots, ' '), ret_slots))
            return true;
    return false;
}
