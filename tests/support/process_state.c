/* SPDX-License-Identifier: MIT */
#include "support/process_state.h"

#include "support/waiting.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS 3
#define LOOK_US 1000

size_t process_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    if (!folder)
        abort();
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count - 1;
}

size_t process_sockets(void)
{
    size_t count = 0;
    struct stat what;

    for (int fd = 0; fd < 1024; fd++)
        count += fstat(fd, &what) == 0 && S_ISSOCK(what.st_mode);
    return count;
}

uint64_t process_descriptor_set(void)
{
    uint64_t set = 0;

    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            set |= (uint64_t)1 << fd;
    return set;
}

int process_inherited(uint64_t before)
{
    for (int fd = 3; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFD);
        bool was_there = before >> fd & 1;
        if (flags >= 0 && !(flags & FD_CLOEXEC) && !was_there)
            return fd;
    }
    return -1;
}

size_t process_thread_ids(pid_t *ids, size_t room)
{
    DIR *folder = opendir("/proc/self/task");
    size_t count = 0;

    if (!folder)
        abort();
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        if (count < room)
            ids[count] = (pid_t)strtol(entry->d_name, NULL, 10);
        count++;
    }
    closedir(folder);
    return count;
}

size_t process_threads(void)
{
    return process_thread_ids(NULL, 0);
}

uint64_t process_blocked_signals(pid_t thread)
{
    char path[64], line[256];
    uint64_t mask = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "SigBlk: %" SCNx64, &mask) == 1)
            break;
    fclose(file);
    return mask;
}

/* The state follows the name in the line; the name may contain any byte, a bracket
 * too. */
static bool is_asleep(pid_t thread)
{
    char path[64], line[256] = "";

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    const char *end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return end && end[1] == ' ' && end[2] == 'S';
}

void process_await_sleep(const _Atomic pid_t *thread)
{
    WAIT_FOR(*thread != 0);
    for (int looks = 0; looks < LOOKS; looks++) {
        WAIT_FOR(is_asleep(*thread));
        waiting_sleep_us(LOOK_US);
        if (!is_asleep(*thread))
            looks = -1;
    }
}

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

bool process_is_thread_sanitized(void)
{
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
    return true;
#else
    return false;
#endif
}

bool process_is_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
    return true;
#else
    return process_is_thread_sanitized();
#endif
}

size_t process_resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (!file)
        abort();
    if (fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}
