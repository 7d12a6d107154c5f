/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PYTHON_REPLY_TEXT_H
#define TESTS_PYTHON_REPLY_TEXT_H

/* What bindings/python/native/replies.h says a reply becomes, from a reply that is there
 * as a whole; as Python's repr() would write it. */

#include "pickle_reader.h"
#include <shoal/reply.h>

/* Appends to ret_text.  True: Python has to help. */
bool reply_text(const shoal_reply_t *reply, unsigned flags, pickle_text_t *ret_text);

/* The bytes of the first value in such a text, which ends at a comma or a bracket. */
size_t reply_text_item(const char *text);

#endif
