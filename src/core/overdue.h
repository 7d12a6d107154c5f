/* SPDX-License-Identifier: MIT */
#ifndef SHOAL_CORE_OVERDUE_H
#define SHOAL_CORE_OVERDUE_H

/*
 * Says in words why a command's deadline passed: it takes facts and writes one line of
 * text.
 *
 * The unit reads no clock and writes no argument of a command.  `words` are the last
 * failure or the last error of the server, which the caller has cleaned of credentials.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for every text. */
#define SHOAL__OVERDUE_BYTES 512

#define SHOAL__OVERDUE_ANY_SLOT UINT32_MAX

/* Where the command was when its deadline passed. */
typedef enum shoal__overdue_stage {
    SHOAL__OVERDUE_NOT_TAKEN,   /* the loop thread had not looked at it yet */
    SHOAL__OVERDUE_OFFLINE,     /* it waited for a connection */
    SHOAL__OVERDUE_GREETING,    /* the same: connected, the greeting is not over */
    SHOAL__OVERDUE_HANDED_OVER, /* its slot goes from the server to another one */
    SHOAL__OVERDUE_NO_OWNER,    /* nobody is known to own its slot of the cluster */
    SHOAL__OVERDUE_TURNED_AWAY, /* it was held after an error such as LOADING, or waited
                                    behind held commands */
    SHOAL__OVERDUE_WINDOW,  /* as many commands before it were unanswered as may be */
    SHOAL__OVERDUE_UNREAD,  /* the socket took no more bytes */
    SHOAL__OVERDUE_QUEUED,  /* it was not written for another reason */
    SHOAL__OVERDUE_SENT,    /* written, and no reply came */
    SHOAL__OVERDUE_REPLYING /* written, and only a part of the reply came */
} shoal__overdue_stage_t;

typedef struct shoal__overdue {
    shoal__overdue_stage_t stage;
    bool is_partly_sent; /* a part of its bytes was written */
    bool was_sent;       /* an earlier connection was lost while it was unanswered */
    uint64_t waited_us;  /* since its submission */
    uint64_t late_us;    /* since its deadline */
    uint64_t since_us;   /* OFFLINE, GREETING: time without a connection.  SENT,
                             REPLYING: since the command was written.  TURNED_AWAY:
                             since the first error */
    uint64_t silent_us;  /* HANDED_OVER, WINDOW, UNREAD, SENT: since the server's last
                             bytes; NEVER: it has sent none */
    uint64_t count; /* OFFLINE: attempts that failed since then.  TURNED_AWAY: errors.
                             HANDED_OVER, WINDOW, SENT: commands that are unanswered */
    unsigned slot;  /* NO_OWNER: the command's; SHOAL__OVERDUE_ANY_SLOT: it has none */
    const char *server; /* its name; NO_OWNER: who was asked; "": nobody */
    const char *words;  /* OFFLINE, TURNED_AWAY: the last failure, or error; "": none.
                             NO_OWNER: what became of the question.  A pointer that stays
                             the same has the same text */
} shoal__overdue_t;

/* Do both give the same text? */
bool shoal__overdue_is_like(const shoal__overdue_t *one, const shoal__overdue_t *other);

void shoal__overdue_write(const shoal__overdue_t *facts,
                          char text[SHOAL__OVERDUE_BYTES]);

#endif
