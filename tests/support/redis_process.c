/* SPDX-License-Identifier: MIT */
#include "support/redis_process.h"

#include "fault_proxy/fake_bytes.h"
#include "support/loopback_port.h"
#include "support/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 48
#define START_US_MAX 20000000u

struct redis_process {
    struct redis_process
        *next; /* all servers, to be stopped at the end of the program */
    pid_t pid; /* 0: not running */
    loopback_port_t port, tls_port;
    char folder[40], socket[64], port_text[12], tls_port_text[12];
    char config[64]; /* the path of a sentinel's configuration; "": no sentinel */
    const char *const *arguments;
    const fake_tls_config_t *tls; /* NULL: without */
};

static redis_process_t *all;

static int remove_one(const char *path, const struct stat *what, int kind,
                      struct FTW *where)
{
    (void)what;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(const redis_process_t *redis)
{
    (void)nftw(redis->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void kill_all(void)
{
    for (redis_process_t *redis = all; redis; redis = redis->next) {
        redis_process_kill(redis);
        remove_folder(redis);
    }
}

/* Asks over the server's Unix socket, where no other server can answer.  The server
 * makes that socket after it has the port.  With --requirepass the answer is an error, which
 * shows as well that the server is up. */
static bool is_up(const redis_process_t *redis)
{
    return redis_is_at(redis->socket);
}

/* vfork(), because fork() copies the page tables: in a large process that stops all
 * threads, for up to a second, and they miss deadlines.  Until its exec the child
 * shares this memory, and therefore changes nothing in it. */
static pid_t spawn(const char *const *argv)
{
    pid_t parent = getpid();
    pid_t child = vfork();

    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

/* An option and its value; returns how many arguments there are then. */
static size_t add(const char *argv[ARGUMENTS_MAX], size_t argc, const char *name,
                  const char *value)
{
    if (argc + 2 >= ARGUMENTS_MAX)
        abort();
    argv[argc++] = name;
    argv[argc++] = value;
    return argc;
}

static size_t add_tls(const char *argv[ARGUMENTS_MAX], size_t argc,
                      const redis_process_t *redis)
{
    const fake_tls_config_t *tls = redis->tls;

    argc = add(argv, argc, "--tls-port", redis->tls_port_text);
    argc = add(argv, argc, "--tls-cert-file", tls->certificate_file);
    argc = add(argv, argc, "--tls-key-file", tls->key_file);
    argc = add(argv, argc, "--tls-auth-clients", tls->client_ca_file ? "yes" : "no");
    if (tls->client_ca_file)
        argc = add(argv, argc, "--tls-ca-cert-file", tls->client_ca_file);
    if (tls->is_forgetful)
        argc = add(argv, argc, "--tls-session-caching", "no");
    return argc;
}

static pid_t spawn_server(const redis_process_t *redis)
{
    const char *server = getenv("REDIS_SERVER");
    const char *argv[ARGUMENTS_MAX] = {server ? server : "redis-server"};
    const char *const common[] = {"--port",    redis->port_text, "--bind",
                                  "127.0.0.1", "--unixsocket",   redis->socket,
                                  "--dir",     redis->folder,    NULL};
    const char *const no_sentinel[] = {"--save", "", "--appendonly", "no", NULL};
    const char *const sentinel[] = {"--sentinel", NULL};
    const char *const *const lists[] = {
        common, redis->config[0] ? sentinel : no_sentinel, redis->arguments};
    size_t argc = 1;

    if (redis->config[0])
        argv[argc++] = redis->config;
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++)
        for (size_t i = 0; lists[list] && lists[list][i]; i++)
            if (argc < ARGUMENTS_MAX - 1)
                argv[argc++] = lists[list][i];
    if (redis->tls)
        argc = add_tls(argv, argc, redis);
    return spawn(argv);
}

/* Has it ended by itself? */
static bool has_ended(redis_process_t *redis)
{
    if (waitpid(redis->pid, NULL, WNOHANG) != redis->pid)
        return false;
    redis->pid = 0;
    return true;
}

static bool launch(redis_process_t *redis)
{
    uint64_t since_us = waiting_now_us();

    (void)unlink(redis->socket); /* an earlier server may have left it */
    redis->pid = spawn_server(redis);
    while (redis->pid > 0 && waiting_now_us() - since_us < START_US_MAX) {
        if (has_ended(redis))
            return false;
        if (is_up(redis) && !has_ended(redis))
            return true;
        waiting_sleep_us(2000);
    }
    redis_process_kill(redis);
    return false;
}

static void claim_ports(redis_process_t *redis)
{
    loopback_port_release(&redis->port);
    redis->port = loopback_port_claim();
    snprintf(redis->port_text, sizeof redis->port_text, "%d", redis->port.number);
    if (!redis->tls)
        return;
    loopback_port_release(&redis->tls_port);
    redis->tls_port = loopback_port_claim();
    snprintf(redis->tls_port_text, sizeof redis->tls_port_text, "%d",
             redis->tls_port.number);
}

static void write_config(redis_process_t *redis, const char *config)
{
    FILE *file;

    snprintf(redis->config, sizeof redis->config, "%s/sentinel.conf", redis->folder);
    file = fopen(redis->config, "w");
    if (!file || fputs(config, file) < 0 || fclose(file) != 0)
        abort();
}

/* config NULL: no sentinel. */
static redis_process_t *start(const char *const *arguments, const char *config,
                              const fake_tls_config_t *tls)
{
    redis_process_t *redis = fake_must(calloc(1, sizeof *redis));

    redis->arguments = arguments;
    redis->tls = tls;
    strcpy(redis->folder, "/tmp/shoal-redis.XXXXXX");
    if (!mkdtemp(redis->folder))
        abort();
    snprintf(redis->socket, sizeof redis->socket, "%s/socket", redis->folder);
    if (config)
        write_config(redis, config);
    if (!all)
        atexit(kill_all);
    redis->next = all;
    all = redis;
    /* More than once: a program that claims no port may take this one meanwhile. */
    for (int attempt = 0; attempt < 5; attempt++) {
        claim_ports(redis);
        if (launch(redis))
            return redis;
    }
    redis_process_stop(redis);
    return NULL;
}

redis_process_t *redis_process_start(const char *const *arguments)
{
    return start(arguments, NULL, NULL);
}

redis_process_t *redis_process_start_tls(const char *const *arguments,
                                         const fake_tls_config_t *tls)
{
    return start(arguments, NULL, tls);
}

redis_process_t *redis_process_start_sentinel(const char *config,
                                              const fake_tls_config_t *tls)
{
    return start(NULL, config, tls);
}

void redis_process_stop(redis_process_t *redis)
{
    redis_process_t **link = &all;

    if (!redis)
        return;
    redis_process_kill(redis);
    while (*link != redis)
        link = &(*link)->next;
    *link = redis->next;
    remove_folder(redis);
    loopback_port_release(&redis->port);
    loopback_port_release(&redis->tls_port);
    free(redis);
}

int redis_process_port(const redis_process_t *redis)
{
    return redis->port.number;
}

int redis_process_tls_port(const redis_process_t *redis)
{
    return redis->tls_port.number;
}

const char *redis_process_socket(const redis_process_t *redis)
{
    return redis->socket;
}

pid_t redis_process_pid(const redis_process_t *redis)
{
    return redis->pid;
}

void redis_process_pause(redis_process_t *redis)
{
    int status;
    kill(redis->pid, SIGSTOP);
    (void)waitpid(redis->pid, &status, WUNTRACED);
}

void redis_process_resume(redis_process_t *redis)
{
    int status;
    kill(redis->pid, SIGCONT);
    (void)waitpid(redis->pid, &status, WCONTINUED);
}

void redis_process_kill(redis_process_t *redis)
{
    if (redis->pid <= 0)
        return;
    kill(redis->pid, SIGKILL);
    while (waitpid(redis->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    redis->pid = 0;
    unlink(redis->socket);
}

bool redis_process_restart(redis_process_t *redis)
{
    redis_process_kill(redis);
    return launch(redis);
}
