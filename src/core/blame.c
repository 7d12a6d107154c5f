/* SPDX-License-Identifier: MIT */
#include "core/blame.h"

static bool is_cut(const shoal__blame_input_t *input)
{
    return input->progress == SHOAL__PROGRESS_PARTLY ||
           input->progress == SHOAL__PROGRESS_REPLYING;
}

static const char *words_of(const shoal__blame_input_t *input)
{
    bool is_reply = input->progress == SHOAL__PROGRESS_REPLYING;

    if (input->is_refused)
        return is_reply ? "the reply to this command ended the connection"
                        : "this command ended the connection";
    if (is_cut(input) && input->was_cut)
        return is_reply ? "the connection ended within the reply to this command, as "
                          "one before it did"
                        : "the connection ended within the bytes of this command, as "
                          "one before it did";
    if (!is_cut(input) && input->was_alone)
        return "lost again, with no other command unanswered: this command may be the "
               "cause";
    return NULL;
}

shoal__blame_t shoal__blame(const shoal__blame_input_t *input)
{
    if (input->progress == SHOAL__PROGRESS_QUEUED)
        return (shoal__blame_t){.is_guilty = false};

    bool is_again = is_cut(input) && input->was_cut;
    bool is_suspect = is_cut(input) || input->is_oldest || input->was_lost;

    return (shoal__blame_t){.is_guilty = input->is_refused || is_again,
                            .is_cut = is_cut(input),
                            .travels_alone = is_suspect && !input->is_unit,
                            .words = words_of(input)};
}
