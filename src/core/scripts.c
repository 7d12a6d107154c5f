/* SPDX-License-Identifier: MIT */
#include "core/scripts.h"

#include "base/alloc.h"
#include "resp/arguments.h"
#include "resp/encoder.h"
#include <shoal/errors.h>

shoal__script_t *shoal__script_new(shoal__bytes_t text)
{
    const char *const argv[] = {"SCRIPT", "LOAD", text.data};
    const size_t argvlen[] = {6, 4, text.bytes};
    const shoal_command_t command = {3, argv, argvlen};
    shoal__script_t *script;
    size_t bytes;

    if (text.bytes > SHOAL__SCRIPTS_BYTES_MAX)
        return NULL;
    bytes = shoal__encoder_bytes(&command);
    script = shoal__malloc(sizeof *script + bytes);
    if (!script)
        return NULL;
    atomic_init(&script->references, 1);
    script->users = 0;
    script->number = 0;
    script->text_bytes = text.bytes;
    script->bytes = bytes;
    shoal__sha1_hex(text, script->sha1);
    shoal__encoder_write(&command, script->load);
    return script;
}

static shoal__script_t *retain(shoal__script_t *script)
{
    atomic_fetch_add_explicit(&script->references, 1, memory_order_relaxed);
    return script;
}

void shoal__script_release(shoal__script_t *script)
{
    if (script && atomic_fetch_sub(&script->references, 1) == 1)
        shoal__free(script);
}

/* ---- which one ---- */

static bool has_hash(const shoal__script_t *script, shoal__bytes_t sha1)
{
    for (size_t i = 0; i < SHOAL__SHA1_HEX_BYTES; i++) {
        char digit = sha1.data[i];
        if (digit >= 'A' && digit <= 'F')
            digit = (char)(digit - 'A' + 'a');
        if (digit != script->sha1[i])
            return false;
    }
    return true;
}

shoal__script_t *shoal__scripts_find(const shoal__scripts_t *scripts,
                                     shoal__bytes_t sha1)
{
    if (sha1.bytes != SHOAL__SHA1_HEX_BYTES)
        return NULL;
    for (size_t i = 0; i < scripts->count; i++)
        if (has_hash(scripts->items[i], sha1))
            return scripts->items[i];
    return NULL;
}

shoal__script_t *shoal__scripts_called(const shoal__scripts_t *scripts,
                                       shoal__bytes_t encoded)
{
    shoal__arguments_t arguments;
    shoal__bytes_t name, sha1;

    if (scripts->count == 0 || !shoal__arguments_of_encoded(&arguments, encoded) ||
        !shoal__arguments_next(&arguments, &name) ||
        !(shoal__bytes_is_word(name, "EVALSHA") ||
          shoal__bytes_is_word(name, "EVALSHA_RO")) ||
        !shoal__arguments_next(&arguments, &sha1))
        return NULL;
    return shoal__scripts_find(scripts, sha1);
}

/* ---- the list ---- */

static int append(shoal__scripts_t *scripts, shoal__script_t *script)
{
    void *items;

    if (scripts->count == SHOAL__SCRIPTS_MAX ||
        script->text_bytes > SHOAL__SCRIPTS_BYTES_MAX - scripts->text_bytes)
        return SHOAL_EFULL;
    items =
        shoal__realloc(scripts->items, (scripts->count + 1) * sizeof *scripts->items);
    if (!items)
        return SHOAL_ENOMEM;
    scripts->items = items;
    scripts->items[scripts->count++] = script;
    scripts->text_bytes += script->text_bytes;
    script->number = ++scripts->newest;
    return 0;
}

shoal__script_t *shoal__scripts_add(shoal__scripts_t *scripts, shoal__script_t *script,
                                    int *ret_error)
{
    shoal__script_t *known = shoal__scripts_find(
        scripts, (shoal__bytes_t){script->sha1, SHOAL__SHA1_HEX_BYTES});

    *ret_error = known ? 0 : append(scripts, script);
    if (known || *ret_error < 0)
        shoal__script_release(script);
    if (*ret_error < 0)
        return NULL;
    known = known ? known : script;
    known->users++;
    return retain(known);
}

void shoal__scripts_drop(shoal__scripts_t *scripts, shoal__script_t *script)
{
    size_t at = 0;

    if (--script->users > 0)
        return;
    while (scripts->items[at] != script)
        at++;
    scripts->count--;
    scripts->text_bytes -= script->text_bytes;
    memmove(scripts->items + at, scripts->items + at + 1,
            (scripts->count - at) * sizeof *scripts->items);
    shoal__script_release(script);
}

bool shoal__scripts_copy(shoal__scripts_t *to, const shoal__scripts_t *from)
{
    shoal__scripts_t copy = *from;

    copy.items = NULL;
    if (from->count > 0) {
        copy.items = shoal__malloc(from->count * sizeof *copy.items);
        if (!copy.items)
            return false;
    }
    for (size_t i = 0; i < from->count; i++)
        copy.items[i] = retain(from->items[i]);
    shoal__scripts_clear(to);
    *to = copy;
    return true;
}

void shoal__scripts_clear(shoal__scripts_t *scripts)
{
    for (size_t i = 0; i < scripts->count; i++)
        shoal__script_release(scripts->items[i]);
    shoal__free(scripts->items);
    *scripts = (shoal__scripts_t){0};
}
