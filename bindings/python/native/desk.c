/* SPDX-License-Identifier: MIT */
#include "desk.h"

#include <pthread.h>
#include <stdlib.h>

struct shoalpy_desk {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    shoal_credentials_request_t *waiting; /* NULL: none */
};

shoalpy_desk_t *shoalpy_desk_new(void)
{
    shoalpy_desk_t *desk = calloc(1, sizeof *desk);

    if (!desk)
        return NULL;
    if (pthread_mutex_init(&desk->lock, NULL) != 0) {
        free(desk);
        return NULL;
    }
    if (pthread_cond_init(&desk->changed, NULL) != 0) {
        pthread_mutex_destroy(&desk->lock);
        free(desk);
        return NULL;
    }
    return desk;
}

static void provide(shoal_credentials_request_t *request, void *data)
{
    shoalpy_desk_t *desk = data;
    shoal_credentials_request_t *unanswered = request;

    pthread_mutex_lock(&desk->lock);
    if (desk->is_open) {
        /* One is asked at a time: that which waited was given up. */
        unanswered = desk->waiting;
        desk->waiting = request;
        pthread_cond_signal(&desk->changed);
    }
    pthread_mutex_unlock(&desk->lock);
    if (unanswered)
        shoal_credentials_fail(unanswered, "nobody is there to answer");
}

int shoalpy_desk_serve(shoalpy_desk_t *desk, shoal_options_t *options)
{
    return shoal_options_set_credentials_provider(options, provide, desk);
}

void shoalpy_desk_open(shoalpy_desk_t *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->is_open = true;
    pthread_mutex_unlock(&desk->lock);
}

void shoalpy_desk_close(shoalpy_desk_t *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->is_open = false;
    if (desk->waiting)
        shoal_credentials_fail(desk->waiting, "the client is closed");
    desk->waiting = NULL;
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->lock);
}

bool shoalpy_desk_is_awaited(shoalpy_desk_t *desk)
{
    bool is_awaited;

    pthread_mutex_lock(&desk->lock);
    is_awaited = desk->is_open && !desk->waiting;
    pthread_mutex_unlock(&desk->lock);
    return is_awaited;
}

shoal_credentials_request_t *shoalpy_desk_take(shoalpy_desk_t *desk)
{
    shoal_credentials_request_t *request = NULL;

    pthread_mutex_lock(&desk->lock);
    while (desk->is_open && !desk->waiting)
        pthread_cond_wait(&desk->changed, &desk->lock);
    request = desk->waiting; /* none is there after a close */
    desk->waiting = NULL;
    pthread_mutex_unlock(&desk->lock);
    return request;
}
