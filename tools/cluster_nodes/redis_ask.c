/* SPDX-License-Identifier: MIT */
#include "cluster_nodes/redis_ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* The start of a line, from 1; NULL: that line is not whole yet. */
static char *find_line(char *data, unsigned line)
{
    char *at = data, *end;

    while ((end = strstr(at, "\r\n")) != NULL && --line > 0)
        at = end + 2;
    return end ? at : NULL;
}

static bool is_string(const char *data)
{
    return data[0] == '$' && data[1] != '-';
}

/* Read until this line is whole (0: the first line, or for a string its payload). */
static char *read_answer(int fd, char *data, size_t room, unsigned line)
{
    size_t size = 0;
    char *text = NULL;

    while (size < room - 1 && !text) {
        ssize_t count = read(fd, data + size, room - 1 - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return NULL;
        size += (size_t)count;
        data[size] = '\0';
        if (line > 1 && (data[0] == '-' || data[1] == '-'))
            return NULL;
        text = find_line(data, line > 0 ? line : is_string(data) ? 2 : 1);
    }
    return text;
}

static bool ask(const struct sockaddr *address, socklen_t address_bytes,
                const char *command, unsigned line, char *answer, size_t answer_room)
{
    struct timeval patience = {10, 0};
    char data[4096], *text = NULL;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, address, address_bytes) == 0 && dprintf(fd, "%s\r\n", command) > 0)
        text = read_answer(fd, data, sizeof data, line);
    if (text && answer) {
        text[strcspn(text, "\r\n")] = '\0';
        snprintf(answer, answer_room, "%s", text);
    }
    close(fd);
    return text != NULL;
}

bool redis_ask_line(int port, const char *command, unsigned line, char *answer,
                    size_t answer_room)
{
    struct sockaddr_in address = loopback(port);

    return ask((struct sockaddr *)&address, sizeof address, command, line, answer,
               answer_room);
}

bool redis_ask(int port, const char *command, char *answer, size_t answer_room)
{
    return redis_ask_line(port, command, 0, answer, answer_room);
}

bool redis_is_at(const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    return ask((struct sockaddr *)&address, sizeof address, "PING", 0, NULL, 0);
}
