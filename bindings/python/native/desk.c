/* SPDX-License-Identifier: MIT */
#include "desk.h"

#include <pthread.h>
#include <stdlib.h>

/* One is asked at a time; more wait only while they are late. */
#define PLACES 8

struct shoalpy_desk {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    unsigned count; /* of those that wait, oldest first */
    shoal_credentials_request_t *waiting[PLACES];
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
    bool is_taken;

    pthread_mutex_lock(&desk->lock);
    is_taken = desk->is_open && desk->count < PLACES;
    if (is_taken) {
        desk->waiting[desk->count++] = request;
        pthread_cond_signal(&desk->changed);
    }
    pthread_mutex_unlock(&desk->lock);
    if (!is_taken)
        shoal_credentials_fail(request, "nobody is there to answer");
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
    while (desk->count > 0)
        shoal_credentials_fail(desk->waiting[--desk->count], "the client is closed");
    pthread_cond_broadcast(&desk->changed);
    pthread_mutex_unlock(&desk->lock);
}

bool shoalpy_desk_is_open(shoalpy_desk_t *desk)
{
    bool is_open;

    pthread_mutex_lock(&desk->lock);
    is_open = desk->is_open;
    pthread_mutex_unlock(&desk->lock);
    return is_open;
}

shoal_credentials_request_t *shoalpy_desk_take(shoalpy_desk_t *desk)
{
    shoal_credentials_request_t *request = NULL;

    pthread_mutex_lock(&desk->lock);
    while (desk->is_open && desk->count == 0)
        pthread_cond_wait(&desk->changed, &desk->lock);
    if (desk->is_open) {
        request = desk->waiting[0];
        desk->count--;
        for (unsigned i = 0; i < desk->count; i++)
            desk->waiting[i] = desk->waiting[i + 1];
    }
    pthread_mutex_unlock(&desk->lock);
    return request;
}
