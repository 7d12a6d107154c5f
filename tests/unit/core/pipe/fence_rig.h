/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CORE_FENCE_RIG_H
#define TESTS_UNIT_CORE_FENCE_RIG_H

/* A pipe (pipe_rig.h) with a server that echoes: what was written, with a letter for each
 * command and F for a fence, and answers in which F stands for the right one to the next
 * fence.  Included after <cmocka.h>. */

#include "unit/core/pipe/pipe_rig.h"

#define DETECT SHOAL_INTEGRITY_DETECT
#define STRICT SHOAL_INTEGRITY_STRICT

static uint64_t numbers;

static inline void next_number(void *memory, size_t bytes)
{
    uint64_t *words = memory;

    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = ++numbers * UINT64_C(0x9E3779B97F4A7C15);
}

static char written[256];
static char fences[16][SHOAL__NONCE_BYTES + 1]; /* unanswered */
static size_t fences_count;

static inline void note_output(shoal__bytes_t out)
{
    static const char echo[] = "*2\r\n$4\r\nECHO\r\n$16\r\n";
    size_t count = strlen(written);

    for (size_t i = 0; i + 1 < out.bytes; i++) {
        if (strncmp(out.data + i, echo, sizeof echo - 1) == 0) {
            memcpy(fences[fences_count], out.data + i + sizeof echo - 1,
                   SHOAL__NONCE_BYTES);
            fences[fences_count++][SHOAL__NONCE_BYTES] = '\0';
            written[count++] = 'F';
            i += SHOAL__FENCE_BYTES - 1;
        } else if (out.data[i] >= 'a' && out.data[i] <= 'z') {
            written[count++] = out.data[i];
        }
    }
    written[count] = '\0';
}

static inline void write_all(void)
{
    shoal__bytes_t out;

    while ((out = rig_output()).bytes > 0) {
        note_output(out);
        shoal__pipe_written(&rig.pipe, out.bytes, rig.now_us);
    }
}

#define assert_written(text)                                                           \
    do {                                                                               \
        write_all();                                                                   \
        assert_string_equal(written, text);                                            \
        written[0] = '\0';                                                             \
    } while (0)

static inline int answer(const char *wire)
{
    char bytes[1024];
    size_t count = 0, used = 0;

    for (; *wire; wire++) {
        if (*wire != 'F') {
            bytes[count++] = *wire;
            continue;
        }
        assert_true(used < fences_count);
        count += (size_t)snprintf(bytes + count, sizeof bytes - count, "$16\r\n%s\r\n",
                                  fences[used++]);
    }
    fences_count -= used;
    memmove(fences, fences + used, fences_count * sizeof *fences);
    return shoal__pipe_feed(&rig.pipe, bytes, count, rig.now_us);
}

static inline void connect_with(shoal_integrity_t integrity, bool may_echo)
{
    rig.entropy = next_number;
    rig.config.greeting.integrity = integrity;
    rig.config.greeting.protocol = 2;
    fences_count = 0;
    written[0] = '\0';
    shoal__pipe_release(&rig.pipe);
    assert_int_equal(rig_init(&rig.pipe), 0);
    assert_int_equal(shoal__pipe_begin(&rig.pipe, SHOAL__GREETING_FULL, rig.now_us), 0);
    note_output(rig_output());
    shoal__pipe_written(&rig.pipe, rig_output().bytes, rig.now_us);
    assert_int_equal(fences_count, integrity == SHOAL_INTEGRITY_SHAPES ? 0 : 1);
    written[0] = '\0';
    if (!may_echo)
        fences_count = 0;
    assert_int_equal(answer("+OK\r\n+OK\r\n"), 0);
    if (integrity != SHOAL_INTEGRITY_SHAPES)
        assert_int_equal(answer(may_echo ? "F" : "-NOPERM no\r\n"), 0);
    assert_int_equal(rig.pipe.phase, SHOAL__PIPE_READY);
}

static inline void pass_us(uint64_t us)
{
    assert_int_equal(rig_tick(rig.now_us + us), 0);
}

/* Let memory run out: the log is full, and there is no more. */
static inline size_t starve_log(void)
{
    size_t kept = rig.pipe.log.capacity;

    rig.pipe.log.capacity = rig.pipe.log.tail;
    shoal__test_fail_alloc_after(0);
    return kept;
}

static inline void feed_log(size_t kept)
{
    shoal__test_fail_alloc_never();
    rig.pipe.log.capacity = kept;
}

#endif
