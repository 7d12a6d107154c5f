/* SPDX-License-Identifier: MIT */
#include "support/tls/certificate_folder.h"

#include "certificates/certificates.h"
#include "fault_proxy/fake_bytes.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct path {
    struct path *next;
    char text[];
} path_t;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over `paths` */
static path_t *paths;
static char folder[] = "/tmp/shoal-certificates.XXXXXX";
static pid_t maker; /* a child that was forked leaves the folder where it is */

static int remove_one(const char *path, const struct stat *what, int kind,
                      struct FTW *where)
{
    (void)what;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_all(void)
{
    if (getpid() == maker)
        (void)nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    while (paths) {
        path_t *path = paths;
        paths = path->next;
        free(path);
    }
}

static void make(void)
{
    maker = getpid();
    if (!mkdtemp(folder) || !certificates_make(folder)) {
        perror(folder);
        abort();
    }
    atexit(remove_all);
}

const char *certificate_folder(void)
{
    pthread_once(&once, make);
    return folder;
}

const char *certificate_path(const char *file)
{
    size_t bytes = sizeof folder + 1 + strlen(file);
    path_t *path = fake_must(malloc(sizeof *path + bytes));

    snprintf(path->text, bytes, "%s/%s", certificate_folder(), file);
    pthread_mutex_lock(&lock);
    path->next = paths;
    paths = path;
    pthread_mutex_unlock(&lock);
    return path->text;
}
