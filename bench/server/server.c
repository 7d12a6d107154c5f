/* SPDX-License-Identifier: MIT */
#include "server/server.h"

#include "cluster_nodes/cluster_nodes.h"
#include "server/machine.h"

#if SHOAL_BENCH_TLS
#include "certificates/certificates.h"
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Looks for `name` in PATH. */
static bool find_program(const char *name, char *path, size_t path_bytes)
{
    const char *folder = getenv("PATH");

    while (folder && *folder != '\0') {
        size_t bytes = strcspn(folder, ":");
        int length = snprintf(path, path_bytes, "%.*s/%s", (int)bytes, folder, name);
        if (length > 0 && (size_t)length < path_bytes && access(path, X_OK) == 0)
            return true;
        folder += bytes + (folder[bytes] == ':');
    }
    return false;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

#define ARGUMENTS_MAX 80

/* In the server's process: runs the program. */
static void execute(const server_t *server)
{
    char log[128], crt[128], key[128], ca[128], port[8], tls_port[8], bus_port[8];
    size_t argc = 0;
    const char *argv[ARGUMENTS_MAX] = {
        server->program, "--port", port, "--bind", "127.0.0.1", "--unixsocket",
        server->socket_path, "--dir", server->folder, "--save", "", "--appendonly",
        "no", "--daemonize", "no", "--logfile", log, "--loglevel", "warning",
        "--maxclients", "20000",
        /* a server without a TLS port need not know the rest */
        server->tls_port != 0 ? "--tls-port" : NULL, tls_port, "--tls-cert-file", crt,
        "--tls-key-file", key, "--tls-auth-clients", "no",
        /* only nodes need it, with each other */
        server->bus_port != 0 ? "--tls-ca-cert-file" : NULL, ca, "--tls-cluster", "yes",
        "--tls-replication", "yes", NULL};
    snprintf(log, sizeof log, "%s/log", server->folder);
    snprintf(crt, sizeof crt, "%s/server.crt", server->certificates);
    snprintf(key, sizeof key, "%s/server.key", server->certificates);
    snprintf(ca, sizeof ca, "%s/ca.crt", server->certificates);
    snprintf(port, sizeof port, "%d", server->port);
    snprintf(tls_port, sizeof tls_port, "%d", server->tls_port);
    snprintf(bus_port, sizeof bus_port, "%d", server->bus_port);
    while (argv[argc])
        argc++;
    if (server->bus_port != 0)
        cluster_node_options(&argv[argc], bus_port);
    execv(server->program, (char *const *)argv);
}

/* In the server's process. */
static void become_server(const server_t *server, uint64_t cpu, pid_t guard)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != guard)
        _exit(1);
    if (cpu != MACHINE_NO_CPU)
        machine_pin(cpu);
    execute(server);
    _exit(127);
}

/* In the guard's process: the server lives until the leash is cut. */
static void become_guard(const server_t *server, uint64_t cpu, int leash)
{
    char byte;
    pid_t self = getpid();

    setsid(); /* Ctrl-C is for the bench alone */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);

    pid_t child = fork();
    if (child == 0)
        become_server(server, cpu, self);

    while (read(leash, &byte, 1) < 0 && errno == EINTR) {
    }
    if (child > 0) {
        kill(child, SIGKILL); /* there is nothing to save */
        waitpid(child, NULL, 0);
    }
    remove_folder(server->folder);
    _exit(0);
}

static bool answers(const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    bool connected =
        fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return connected;
}

static void read_log(const server_t *server, char *text, size_t text_bytes)
{
    char path[128];
    char line[200] = "";

    snprintf(path, sizeof path, "%s/log", server->folder);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        /* the last line explains best */
    }
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    snprintf(text, text_bytes, "%s did not start: %s", server->program,
             line[0] != '\0' ? line : "no answer within 5 seconds");
}

static int await(server_t *server, char *problem, size_t problem_bytes)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    for (int i = 0; i < 1000; i++) {
        if (answers(server->socket_path))
            return 0;
        nanosleep(&pause, NULL);
    }
    read_log(server, problem, problem_bytes);
    server_stop(server);
    return -1;
}

static int make_folder(server_t *server)
{
    const char *parent = getenv("TMPDIR");
    int length =
        snprintf(server->folder, sizeof server->folder, "%s/shoal-bench.XXXXXX",
                 parent && *parent != '\0' ? parent : "/tmp");

    if (length < 0 || (size_t)length >= sizeof server->folder)
        snprintf(server->folder, sizeof server->folder, "/tmp/shoal-bench.XXXXXX");
    if (!mkdtemp(server->folder))
        return -1;
    snprintf(server->socket_path, sizeof server->socket_path, "%s/socket",
             server->folder);
    return 0;
}

/* A port that was free a moment ago; 0 if there is none. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_found;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_found = fd >= 0 && bind(fd, (struct sockaddr *)&address, bytes) == 0 &&
               getsockname(fd, (struct sockaddr *)&address, &bytes) == 0;
    if (fd >= 0)
        close(fd);
    return is_found ? ntohs(address.sin_port) : 0;
}

#if SHOAL_BENCH_TLS
#define make_certificates(folder) certificates_make(folder)
#else
#define make_certificates(folder) false
#endif

/* Another one than the server has. */
static int another_port(const server_t *server)
{
    for (int i = 0; i < 10; i++) {
        int port = free_port();
        if (port != server->port && port != server->tls_port)
            return port;
    }
    return 0;
}

/* What it takes to listen; -1 with a line in `problem`. */
static int choose_ports(server_t *server, const server_plan_t *plan, char *problem,
                        size_t problem_bytes)
{
    server->port = plan->has_port ? free_port() : 0;
    server->tls_port = plan->has_tls ? another_port(server) : 0;
    server->bus_port = plan->is_node ? another_port(server) : 0;
    if ((server->port != 0) == plan->has_port &&
        (server->tls_port != 0) == plan->has_tls &&
        (server->bus_port != 0) == plan->is_node)
        return 0;
    snprintf(problem, problem_bytes, "no free port: %s", strerror(errno));
    return -1;
}

/* The folder, and what TLS needs, in it or elsewhere. */
static int furnish(server_t *server, const server_plan_t *plan, char *problem,
                   size_t problem_bytes)
{
    if (make_folder(server) < 0) {
        snprintf(problem, problem_bytes, "no temporary folder: %s", strerror(errno));
        return -1;
    }
    if (!plan->has_tls)
        return 0;
    snprintf(server->certificates, sizeof server->certificates, "%s",
             plan->certificates ? plan->certificates : server->folder);
    if (plan->certificates || make_certificates(server->folder))
        return 0;
    snprintf(problem, problem_bytes, "no certificates in %s", server->folder);
    remove_folder(server->folder);
    return -1;
}

int server_start(server_t *server, const server_plan_t *plan, char *problem,
                 size_t problem_bytes)
{
    int leash[2];

    *server = (server_t){.guard = -1, .leash = -1};
    if (choose_ports(server, plan, problem, problem_bytes) < 0)
        return -1;
    if (!find_program("redis-server", server->program, sizeof server->program) &&
        !find_program("valkey-server", server->program, sizeof server->program)) {
        snprintf(problem, problem_bytes,
                 "neither redis-server nor valkey-server is installed; "
                 "name a server with -u, -h or -s");
        return -1;
    }
    if (furnish(server, plan, problem, problem_bytes) < 0)
        return -1;
    if (pipe2(leash, O_CLOEXEC) < 0) {
        snprintf(problem, problem_bytes, "no pipe: %s", strerror(errno));
        remove_folder(server->folder);
        return -1;
    }

    server->guard = fork();
    if (server->guard == 0) {
        close(leash[1]);
        become_guard(server, plan->cpu, leash[0]);
    }
    close(leash[0]);
    server->leash = leash[1];
    if (server->guard < 0) {
        snprintf(problem, problem_bytes, "fork: %s", strerror(errno));
        remove_folder(server->folder);
        close(server->leash);
        return -1;
    }
    return await(server, problem, problem_bytes);
}

void server_stop(server_t *server)
{
    if (server->guard <= 0)
        return;
    close(server->leash);
    while (waitpid(server->guard, NULL, 0) < 0 && errno == EINTR) {
    }
    remove_folder(server->folder); /* for a guard that was killed */
    server->guard = -1;
}
