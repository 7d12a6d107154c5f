/* SPDX-License-Identifier: MIT */
#include "support/loopback_port.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PORT_FIRST 20000
#define PORTS 12000
#define ATTEMPTS_MAX 1000

static int choose(unsigned attempt)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t mixed = (uint64_t)getpid() * 2654435761u + (uint64_t)now.tv_nsec / 64 +
                     (uint64_t)attempt * 7919u;
    return PORT_FIRST + (int)(mixed % PORTS);
}

/* Returns the descriptor, or -1: another test has it. */
static int claim(int number)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int bytes =
        snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "shoal-port-%d", number);
    socklen_t size =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)bytes;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&name, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Is the port free of listeners that claim no number? */
static bool is_free(int number)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)number),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof address);

    if (fd >= 0)
        close(fd);
    return rc == 0;
}

loopback_port_t loopback_port_claim(void)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        loopback_port_t port = {.number = choose(attempt)};
        port.claim = claim(port.number);
        if (port.claim >= 0 && is_free(port.number))
            return port;
        if (port.claim >= 0)
            close(port.claim);
    }
    perror("no port is free");
    abort();
}

void loopback_port_release(loopback_port_t *port)
{
    if (port->number == 0)
        return;
    close(port->claim);
    *port = (loopback_port_t){0};
}
