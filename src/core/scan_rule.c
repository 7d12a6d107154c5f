/* SPDX-License-Identifier: MIT */
#include "core/scan_rule.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "core/cluster/slots_reply.h"
#include "core/description.h"
#include "core/target_name.h"
#include "resp/key_slot.h"
#include <shoal/errors.h>
#include <stdio.h>
#include <string.h>

#define NOBODY 0xFFFFu

typedef struct node {
    char id[SHOAL__NODE_ID_BYTES];
    char name[SHOAL__TARGET_NAME_BYTES]; /* as it was called last */
    uint64_t epoch;
    uint64_t imports; /* a number for the slots that are being moved there; 0: none */
    uint64_t imports_seen; /* the same at the last look that asked for nothing else */
    bool has_spoken;       /* since the last _listen() */
    bool is_due;           /* it is to be scanned, or is being scanned */
} node_t;

struct shoal__scan_map {
    node_t *nodes;
    unsigned count, room;
    unsigned at;                   /* the node of the next page, or NOBODY */
    unsigned missing;              /* slots that nobody has claimed, but somebody has */
    uint16_t owners[SHOAL__SLOTS]; /* at the last look, or NOBODY */
    uint16_t claims[SHOAL__SLOTS]; /* of this look */
    uint8_t named[SHOAL__SLOTS / 8]; /* slots that are some node's, says another one */
};

static void begin(shoal__scan_rule_t *rule)
{
    memcpy(rule->cursor, "0", 2);
    rule->process = 0;
}

static bool is_first(const char *cursor)
{
    return strcmp(cursor, "0") == 0;
}

int shoal__scan_rule_init(shoal__scan_rule_t *rule, bool is_of_cluster)
{
    shoal__scan_map_t *map = is_of_cluster ? shoal__calloc(1, sizeof *map) : NULL;

    if (is_of_cluster && !map)
        return SHOAL_ENOMEM;
    *rule = (shoal__scan_rule_t){
        .step = is_of_cluster ? SHOAL__SCAN_LOOK : SHOAL__SCAN_PAGE, .map = map};
    begin(rule);
    if (map)
        memset(map->owners, 0xFF, sizeof map->owners);
    return 0;
}

void shoal__scan_rule_release(shoal__scan_rule_t *rule)
{
    if (rule->map)
        shoal__free(rule->map->nodes);
    shoal__free(rule->map);
}

/* ---- pages ---- */

const char *shoal__scan_rule_node(const shoal__scan_rule_t *rule)
{
    return rule->map ? rule->map->nodes[rule->map->at].name : NULL;
}

/* The page of the node that is due; if none is, `otherwise`. */
static void choose(shoal__scan_rule_t *rule, shoal__scan_step_t otherwise)
{
    shoal__scan_map_t *map = rule->map;

    rule->step = SHOAL__SCAN_PAGE;
    if (map->at < map->count && map->nodes[map->at].is_due)
        return; /* it goes on */
    begin(rule);
    for (map->at = 0; map->at < map->count; map->at++)
        if (map->nodes[map->at].is_due)
            return;
    rule->step = otherwise;
}

bool shoal__scan_rule_page(shoal__scan_rule_t *rule, shoal__bytes_t cursor,
                           uint64_t process)
{
    char next[SHOAL__SCAN_CURSOR_BYTES];

    if (!shoal__text_read_word(cursor, next, sizeof next))
        return false;
    if (!is_first(rule->cursor) && process != rule->process) {
        begin(rule); /* neither our cursor nor its answer means anything */
        return true;
    }
    memcpy(rule->cursor, next, sizeof next);
    rule->process = process;
    if (!is_first(next))
        return true;
    if (!rule->map) {
        rule->step = SHOAL__SCAN_OVER;
        return true;
    }
    rule->map->nodes[rule->map->at].is_due = false;
    choose(rule, SHOAL__SCAN_LOOK);
    return true;
}

void shoal__scan_rule_failed(shoal__scan_rule_t *rule)
{
    if (rule->map)
        rule->step = SHOAL__SCAN_LOOK;
}

/* ---- what nodes say ---- */

void shoal__scan_rule_listen(shoal__scan_rule_t *rule)
{
    shoal__scan_map_t *map = rule->map;

    memset(map->claims, 0xFF, sizeof map->claims);
    memset(map->named, 0, sizeof map->named);
    for (unsigned i = 0; i < map->count; i++)
        map->nodes[i].has_spoken = false;
}

/* A new one has no slots.  NULL: no memory. */
static node_t *node_of(shoal__scan_map_t *map, const shoal__nodes_line_t *line)
{
    for (unsigned i = 0; i < map->count; i++)
        if (strcmp(map->nodes[i].id, line->id) == 0)
            return &map->nodes[i];
    if (map->count == map->room) {
        unsigned room = map->room ? map->room * 2 : 8;
        node_t *nodes = shoal__realloc(map->nodes, room * sizeof *nodes);
        if (!nodes)
            return NULL;
        map->nodes = nodes;
        map->room = room;
    }
    map->nodes[map->count] = (node_t){.epoch = line->epoch};
    memcpy(map->nodes[map->count].id, line->id, sizeof line->id);
    return &map->nodes[map->count++];
}

static void name(shoal__scan_map_t *map, const shoal__nodes_line_t *line)
{
    shoal__bytes_t rest = line->slots;
    shoal__nodes_slots_t slots;

    while (shoal__nodes_slots_next(&rest, &slots))
        for (unsigned slot = slots.first; slot <= slots.last; slot++)
            map->named[slot / 8] |= (uint8_t)(1u << slot % 8);
}

static void claim(shoal__scan_map_t *map, unsigned slot, const node_t *node)
{
    unsigned other = map->claims[slot];

    if (other == NOBODY || map->nodes[other].epoch < node->epoch)
        map->claims[slot] = (uint16_t)(node - map->nodes);
}

/* It is to be scanned from the beginning. */
static void want(shoal__scan_map_t *map, node_t *node)
{
    node->is_due = true;
    if ((unsigned)(node - map->nodes) == map->at)
        map->at = NOBODY;
}

/* A node speaks of itself. */
static int hear_self(shoal__scan_map_t *map, const char *called,
                     const shoal__nodes_line_t *line)
{
    node_t *node = node_of(map, line);
    shoal__bytes_t rest = line->slots;
    shoal__nodes_slots_t slots;

    if (!node)
        return SHOAL_ENOMEM;
    snprintf(node->name, sizeof node->name, "%s", called);
    if (node->epoch != line->epoch)
        want(map, node);
    node->has_spoken = true;
    node->epoch = line->epoch;
    node->imports = 0;
    while (shoal__nodes_slots_next(&rest, &slots))
        if (slots.is_import)
            node->imports = shoal__hash(slots.text, node->imports);
        else
            for (unsigned slot = slots.first; slot <= slots.last; slot++)
                claim(map, slot, node);
    return 0;
}

int shoal__scan_rule_hear(shoal__scan_rule_t *rule, const char *called,
                          shoal__bytes_t said)
{
    shoal__nodes_line_t line;
    int rc = 0;

    while (rc == 0 && shoal__nodes_reply_next(&said, &line)) {
        if (line.is_primary && line.is_myself)
            rc = hear_self(rule->map, called, &line);
        else if (line.is_primary)
            name(rule->map, &line);
    }
    return rc;
}

/* Who has the slot now? */
static void assign(shoal__scan_map_t *map, unsigned slot)
{
    unsigned now = map->claims[slot];

    if (now != NOBODY && now != map->owners[slot])
        want(map, &map->nodes[now]);
    map->owners[slot] = (uint16_t)now;
}

static bool is_missing(const shoal__scan_map_t *map, unsigned slot)
{
    return map->claims[slot] == NOBODY && map->named[slot / 8] & 1u << slot % 8;
}

/* Those that do not speak are not asked. */
static void drop_silent(shoal__scan_map_t *map)
{
    for (unsigned i = 0; i < map->count; i++)
        map->nodes[i].is_due = map->nodes[i].is_due && map->nodes[i].has_spoken;
}

typedef bool (*node_is_fn)(const node_t *node);

static bool is_due(const node_t *node)
{
    return node->is_due;
}

static bool has_spoken(const node_t *node)
{
    return node->has_spoken;
}

static bool has_any(const shoal__scan_map_t *map, node_is_fn is)
{
    for (unsigned i = 0; i < map->count; i++)
        if (is(&map->nodes[i]))
            return true;
    return false;
}

/* All else is scanned: now those that keys are being moved to, once for each time that this
 * changes. */
static void want_imports(shoal__scan_map_t *map)
{
    for (unsigned i = 0; i < map->count; i++) {
        node_t *node = &map->nodes[i];
        if (node->has_spoken && node->imports && node->imports != node->imports_seen)
            want(map, node);
        node->imports_seen = node->imports;
    }
}

void shoal__scan_rule_heard(shoal__scan_rule_t *rule)
{
    shoal__scan_map_t *map = rule->map;
    unsigned missing = 0;

    for (unsigned slot = 0; slot < SHOAL__SLOTS; slot++) {
        assign(map, slot);
        if (!is_missing(map, slot))
            continue;
        missing++;
        rule->slot = slot;
    }
    drop_silent(map);
    if (missing == 0 || missing < map->missing)
        rule->finds = 0;
    map->missing = missing;
    if (missing == 0 && !has_any(map, is_due))
        want_imports(map);
    if (missing == 0)
        choose(rule, SHOAL__SCAN_OVER);
    else
        rule->step = SHOAL__SCAN_FIND;
    if (rule->finds == SHOAL__SCAN_FINDS_MAX || !has_any(map, has_spoken))
        rule->step = SHOAL__SCAN_LOST;
}

/* ---- slots of unknown nodes ---- */

void shoal__scan_rule_key(const shoal__scan_rule_t *rule,
                          char ret_key[SHOAL__SCAN_KEY_BYTES])
{
    shoal__bytes_t key = {ret_key, 0};
    uint32_t number = 0;

    do {
        key.bytes =
            (size_t)snprintf(ret_key, SHOAL__SCAN_KEY_BYTES, "%u", (unsigned)number++);
    } while (shoal__key_slot(key) != rule->slot);
}

void shoal__scan_rule_found(shoal__scan_rule_t *rule)
{
    rule->finds = rule->step == SHOAL__SCAN_FIND ? rule->finds + 1 : 0;
    rule->step = SHOAL__SCAN_LOOK;
}
