/* SPDX-License-Identifier: MIT */

/* Prints what the decoder makes of each file, for reference.py: a line "file <name>",
 * then the transcript. */

#include "decoder_runs.h"
#include "fuzz_input.h"

#define INPUT_BYTES_MAX (1 << 20)

int main(int argc, char **argv)
{
    static uint8_t data[INPUT_BYTES_MAX];

    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        decoder_input_t input;
        transcript_t heard;

        FUZZ_CHECK(file, "%s cannot be read", argv[i]);
        size_t bytes = fread(data, 1, sizeof data, file);
        fclose(file);
        printf("file %s\n", argv[i]);
        if (!decoder_input_read(&input, data, bytes))
            continue;
        transcript_init(&heard);
        decoder_run(&heard, &input, DECODER_TREE, true);
        fputs(heard.text, stdout);
        transcript_release(&heard);
    }
    return 0;
}
