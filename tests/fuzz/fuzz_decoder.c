/* SPDX-License-Identifier: MIT */

/* Streams of replies, right and wrong: the decoder says the same however they are split,
 * and into trees, sinks, chunks or nowhere, and it is what the reference says. */

#include "decoder_runs.h"
#include "fuzz_input.h"

static void check_run(const decoder_input_t *input, decoder_way_t way, bool is_split,
                      const transcript_t *expected)
{
    transcript_t heard;

    transcript_init(&heard);
    decoder_run(&heard, input, way, is_split);
    FUZZ_CHECK(strcmp(heard.text, expected->text) == 0,
               "way %d, split %d:\n%sexpected:\n%s", (int)way, is_split, heard.text,
               expected->text);
    transcript_release(&heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    decoder_input_t input;
    transcript_t expected, nowhere;

    if (!decoder_input_read(&input, data, bytes))
        return 0;
    transcript_init(&expected);
    transcript_init(&nowhere);
    reference_decode(&expected, input.limits, false, input.wire, input.bytes);
    reference_decode(&nowhere, input.limits, true, input.wire, input.bytes);
    for (int is_split = 0; is_split < 2; is_split++) {
        check_run(&input, DECODER_TREE, is_split, &expected);
        check_run(&input, DECODER_SINK, is_split, &expected);
        check_run(&input, DECODER_CHUNKS, is_split, &expected);
        check_run(&input, DECODER_NOWHERE, is_split, &nowhere);
    }
    transcript_release(&expected);
    transcript_release(&nowhere);
    return 0;
}
