/* SPDX-License-Identifier: MIT */
#include "core/extra.h"

#include "base/alloc.h"

/* One block: the extra, the values of each command, the references. */
shoal__extra_t *shoal__extra_new(size_t commands, size_t references)
{
    size_t bytes = sizeof(shoal__extra_t);
    shoal__extra_t *extra;

    if (references > 0)
        bytes += commands * sizeof(shoal__values_t) +
                 references * sizeof(shoal__reference_t);
    extra = shoal__calloc(1, bytes);
    if (!extra)
        return NULL;
    extra->owners = commands;
    if (references > 0)
        extra->values = (shoal__values_t *)(extra + 1);
    return extra;
}

shoal__reference_t *shoal__extra_references(const shoal__extra_t *extra,
                                            size_t commands)
{
    return (shoal__reference_t *)(extra->values + commands);
}

void shoal__extra_drop_last(shoal__extra_t *extra)
{
    if (extra->on_release)
        extra->on_release(extra->release_data);
    shoal__free(extra);
}
