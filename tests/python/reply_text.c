/* SPDX-License-Identifier: MIT */
#include "reply_text.h"

#include "replies.h"
#include <stdlib.h>
#include <string.h>

#define SHORT_DIGITS 18

typedef struct printer {
    pickle_text_t *text;
    unsigned flags;
    bool needs_help;
} printer_t;

static void print_reply(printer_t *printer, const shoal_reply_t *reply, bool is_key);

static void print_string(printer_t *printer, const shoal_reply_t *reply)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);
    bool as_text = (printer->flags & SHOALPY_AS_TEXT) != 0;
    bool is_str = as_text && pickle_is_utf8(data, bytes);

    printer->needs_help |= as_text && !is_str;
    pickle_text_quote(printer->text, is_str ? "" : "b", data, bytes, is_str);
}

static void print_marked(printer_t *printer, const shoal_reply_t *reply,
                         const char *closing)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);

    pickle_text_quote(printer->text, "(bytearray(b", data, bytes, false);
    pickle_text_print(printer->text, "%s", closing);
    printer->needs_help = true;
}

static void print_big_number(printer_t *printer, const shoal_reply_t *reply,
                             bool is_key)
{
    size_t bytes;
    const char *data = shoal_reply_string(reply, &bytes);

    char digits[SHORT_DIGITS + 1] = "";

    if (is_key || printer->flags & SHOALPY_CLASSIC) {
        print_string(printer, reply);
    } else if (bytes > SHORT_DIGITS) {
        print_marked(printer, reply, "), None)");
    } else {
        memcpy(digits, data, bytes);
        pickle_text_print(printer->text, "%lld", strtoll(digits, NULL, 10));
    }
}

static void print_children(printer_t *printer, const shoal_reply_t *reply, bool is_key,
                           bool is_map)
{
    for (size_t i = 0; i < shoal_reply_count(reply); i++) {
        bool is_value = is_map && i % 2 == 1;
        if (i > 0)
            pickle_text_print(printer->text, is_value && !is_key ? ": " : ", ");
        print_reply(printer, shoal_reply_at(reply, i), is_key || (is_map && !is_value));
    }
}

static void print_list(printer_t *printer, const shoal_reply_t *reply, bool is_key)
{
    bool is_pair_of_one = is_key && shoal_reply_count(reply) == 1;

    pickle_text_print(printer->text, is_key ? "(" : "[");
    print_children(printer, reply, is_key, false);
    pickle_text_print(printer->text, is_pair_of_one ? ",)" : is_key ? ")" : "]");
}

static void print_set(printer_t *printer, const shoal_reply_t *reply, bool is_key)
{
    const char *name = is_key ? "frozenset" : "set";

    if (shoal_reply_count(reply) == 0) {
        pickle_text_print(printer->text, "%s()", name);
        return;
    }
    pickle_text_print(printer->text, is_key ? "frozenset({" : "{");
    print_children(printer, reply, true, false);
    pickle_text_print(printer->text, is_key ? "})" : "}");
}

static void print_reply(printer_t *printer, const shoal_reply_t *reply, bool is_key)
{
    switch (shoal_reply_type(reply)) {
    case SHOAL_REPLY_NIL:
        pickle_text_print(printer->text, "None");
        break;
    case SHOAL_REPLY_STRING:
    case SHOAL_REPLY_STATUS:
    case SHOAL_REPLY_VERBATIM:
        print_string(printer, reply);
        break;
    case SHOAL_REPLY_INTEGER:
        pickle_text_print(printer->text, "%lld", (long long)shoal_reply_integer(reply));
        break;
    case SHOAL_REPLY_BOOL:
        pickle_text_print(printer->text, shoal_reply_bool(reply) ? "True" : "False");
        break;
    case SHOAL_REPLY_DOUBLE:
        pickle_text_float(printer->text, shoal_reply_double(reply));
        break;
    case SHOAL_REPLY_BIGNUM:
        print_big_number(printer, reply, is_key);
        break;
    case SHOAL_REPLY_ERROR:
        if (is_key)
            print_string(printer, reply);
        else
            print_marked(printer, reply, "),)");
        break;
    case SHOAL_REPLY_MAP:
        pickle_text_print(printer->text, is_key ? "(" : "{");
        print_children(printer, reply, is_key, true);
        pickle_text_print(printer->text, is_key ? ")" : "}");
        break;
    case SHOAL_REPLY_SET:
        if (printer->flags & SHOALPY_CLASSIC)
            print_list(printer, reply, is_key);
        else
            print_set(printer, reply, is_key);
        break;
    case SHOAL_REPLY_ARRAY:
    case SHOAL_REPLY_PUSH:
        print_list(printer, reply, is_key);
        break;
    }
}

bool reply_text(const shoal_reply_t *reply, unsigned flags, pickle_text_t *ret_text)
{
    printer_t printer = {.text = ret_text, .flags = flags};

    print_reply(&printer, reply, false);
    return printer.needs_help;
}

size_t reply_text_item(const char *text)
{
    size_t at = 0, depth = 0;
    bool is_quoted = false;

    for (;; at++) {
        char c = text[at];
        if (c == '\'')
            is_quoted = !is_quoted; /* those in strings are \x27 */
        else if (c == '\0')
            return at;
        else if (is_quoted)
            continue;
        else if (depth == 0 && (c == ',' || c == ']'))
            return at;
        else if (c == '[' || c == '(' || c == '{')
            depth++;
        else if (c == ']' || c == ')' || c == '}')
            depth--;
    }
}
