/* SPDX-License-Identifier: MIT */
#include "core/pipe/inbound.h"

shoal__inbound_verdict_t shoal__inbound(const shoal__inbound_frame_t *frame)
{
    /* During the greeting HELLO may just have switched the protocol, so a push is no
     * violation. */
    if (frame->is_push)
        return frame->is_resp3 || frame->is_greeting ? SHOAL__INBOUND_PUSH
                                                     : SHOAL__INBOUND_VIOLATION;
    if (!frame->is_answer_due)
        return frame->is_line && !frame->is_greeting ? SHOAL__INBOUND_PUSH
                                                     : SHOAL__INBOUND_VIOLATION;
    return frame->is_greeting ? SHOAL__INBOUND_GREETING : SHOAL__INBOUND_REPLY;
}
