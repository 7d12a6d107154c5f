/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_RESP_COMMAND_SLOT_H
#define SHOAL_RESP_COMMAND_SLOT_H

/*
 * The slot of a command: that of its keys (resp/key_slot.h).  Submitting threads ask, and
 * the loop thread again where commands change their node.
 *
 * Of a command that is not in the table the client's book says where its keys are
 * (resp/command_book.h).  While it does not, or without a book (NULL), the first argument is its
 * key, as with most commands of modules.
 */

#include "resp/command_book.h"
#include "resp/command_keys.h"
#include "resp/key_slot.h"
#include <shoal/command.h>

#define SHOAL__SLOT_NONE 0xFFFFu    /* it has no key: any node may execute it */
#define SHOAL__SLOT_SEVERAL 0xFFFEu /* its keys have several: no node may */
/* It is for certain nodes, or a slot is not all that is to be known: the route looks at the
 * command itself.  Not of a command, but of a request. */
#define SHOAL__SLOT_SPREAD 0xFFFDu

/* A slot, NONE or SEVERAL. */
unsigned shoal__command_slot(const shoal_command_t *command,
                             shoal__command_book_t *book);
/* The same, for who has looked it up in the table; info NULL: it is not there. */
unsigned shoal__command_slot_by(const shoal_command_t *command,
                                const shoal__command_info_t *info,
                                shoal__command_book_t *book);
/* The same of an encoded command, of which `encoded` may lack the last arguments. */
unsigned shoal__encoded_slot(shoal__bytes_t encoded, shoal__command_book_t *book);
/* Does the table know the command?  Else its node has the last word on its slot. */
bool shoal__encoded_is_known(shoal__bytes_t encoded);
/* Show the keys of which that is the slot. */
void shoal__encoded_keys(shoal__bytes_t encoded, shoal__command_book_t *book,
                         shoal__keys_fn on_key, void *data);

#endif
