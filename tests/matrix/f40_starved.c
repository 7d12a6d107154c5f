/* SPDX-License-Identifier: MIT */
/* F40: far more threads than processors, most of which do nothing but burn time; and less
 * memory than the process would like.  Slow it may be, wrong it may not.  (I1 - I6)
 *
 * The memory is that of a cgroup, where one can be made: in the full size only, by a
 * SHOAL_TEST_SCALE above 1.  There the process may be killed for it. */
#include "matrix/load.h"
#include "matrix/matrix.h"
#include "support/lone_fork.h"
#include "support/process_state.h"
#include "support/sleeper.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 64
#define BURNERS 8
#define COMMANDS 6000
#define LATE_US_MAX 1000000 /* the promise is for a thread that has a processor */
#define MEMORY_BYTES "67108864"

static _Atomic bool is_burning;

static void *burn(void *data)
{
    volatile unsigned *work = data;
    while (is_burning)
        *work += 1;
    return NULL;
}

typedef struct fire {
    pthread_t threads[BURNERS];
    unsigned work[BURNERS];
} fire_t;

static void put_out(void *data)
{
    fire_t *fire = data;

    is_burning = false;
    for (int i = 0; i < BURNERS; i++)
        pthread_join(fire->threads[i], NULL);
}

static void check_starved(const matrix_mode_t *mode)
{
    static fire_t fire;
    const load_plan_t plan = {
        .threads = THREADS,
        .commands = matrix_scaled(process_is_sanitized() ? COMMANDS / 6 : COMMANDS),
        .window = 2000,
        .writes = 10,
        .cancels = 5,
        .hurries = 10,
        .hurry_us_max = 20000};
    matrix_t *m = matrix_begin(mode);
    redis_process_t *redis = matrix_redis(m, NULL);

    matrix_to_redis(m, redis);
    m->callers = THREADS;
    m->late_us_max = process_is_sanitized() ? 10 * LATE_US_MAX : LATE_US_MAX;
    matrix_open_ready(m);
    is_burning = true;
    for (int i = 0; i < BURNERS; i++)
        if (pthread_create(&fire.threads[i], NULL, burn, &fire.work[i]) != 0)
            abort();
    matrix_defer(m, put_out, &fire);
    load_run(m, &plan);
    matrix_check_redis(m, redis_process_port(redis));
    assert_int_equal(matrix_stats(m).connects, 1);
    print_message("%s: %llu commands; a sleeping thread was up to %llu us late\n",
                  mode->name, (unsigned long long)m->completed,
                  (unsigned long long)sleeper_late_us_max());
    matrix_end(m);
}

/* ---- little memory ---- */

static bool put(const char *folder, const char *file, const char *text)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *to = fopen(path, "we");
    if (!to)
        return false;
    bool is_put = fputs(text, to) >= 0;
    return fclose(to) == 0 && is_put;
}

/* A cgroup of its own, of either kind; false: not permitted. */
static bool make_group(char *folder, size_t room)
{
    static const char *const kinds[][2] = {
        {"/sys/fs/cgroup", "memory.max"},
        {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(folder, room, "%s/shoal-f40-%d", kinds[i][0], (int)getpid());
        if (mkdir(folder, 0700) == 0 && put(folder, kinds[i][1], MEMORY_BYTES))
            return true;
        (void)rmdir(folder);
    }
    return false;
}

/* The child repeats the test of this column in a process of its own; it has no threads of
 * its parent, and its program is this one. */
static void check_short_of_memory(const matrix_mode_t *mode)
{
    char folder[96], pattern[64], text[16];
    int status = 0;

    if (!make_group(folder, sizeof folder)) {
        print_message("no memory cgroup may be made here\n");
        return;
    }
    snprintf(pattern, sizeof pattern, "F40 %s", mode->name);
    pid_t child = lone_fork();
    if (child == 0) {
        snprintf(text, sizeof text, "%d", (int)getpid());
        if (!put(folder, "cgroup.procs", text))
            _exit(77);
        setenv("SHOAL_TEST_SCALE", "1", 1);
        execl("/proc/self/exe", "matrix_f40_starved", pattern, (char *)NULL);
        _exit(127);
    }
    assert_true(waitpid(child, &status, 0) == child);
    (void)rmdir(folder);
    bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    print_message("%s: in %s bytes of memory: %s\n", mode->name, MEMORY_BYTES,
                  is_killed ? "killed for it" : "done");
    assert_true(is_killed || (WIFEXITED(status) &&
                              (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77)));
}

static void f40(const matrix_mode_t *mode)
{
    check_starved(mode);
    if (matrix_scale() > 1.0 && !process_is_sanitized())
        check_short_of_memory(mode);
}

MATRIX_ROW(40){
    MATRIX_CELLS_EVERYWHERE(f40),
    MATRIX_ROW_END,
};
