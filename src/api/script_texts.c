/* SPDX-License-Identifier: MIT */
#include <shoal/script.h>

/* What each one takes and answers is said in the header.  A number that a script is handed, or
 * computes, is exact up to 2^53. */
static const char *const texts[] = {
    [SHOAL_SCRIPT_COMPARE_AND_SET] =
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n"
        "redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')\n"
        "return 1\n",
    [SHOAL_SCRIPT_COMPARE_AND_DELETE] =
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n"
        "return redis.call('DEL', KEYS[1])\n",
    [SHOAL_SCRIPT_COMPARE_AND_EXPIRE] =
        "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\n"
        "return redis.call('PEXPIRE', KEYS[1], ARGV[2])\n",
    [SHOAL_SCRIPT_ADD_WITHIN] =
        "local value = tonumber(redis.call('GET', KEYS[1]) or 0)\n"
        "local sum = value + tonumber(ARGV[1])\n"
        "if sum < tonumber(ARGV[2]) or sum > tonumber(ARGV[3]) then\n"
        "  return {0, value}\n"
        "end\n"
        "return {1, redis.call('INCRBY', KEYS[1], ARGV[1])}\n",
    [SHOAL_SCRIPT_LOCK] =
        "if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then\n"
        "  return false\n"
        "end\n"
        "return redis.call('INCR', KEYS[2])\n",
    /* GCRA: the key has the moment at which the bucket is full again, in microseconds. */
    [SHOAL_SCRIPT_RATE_LIMIT] =
        "local time = redis.call('TIME')\n"
        "local now = time[1] * 1000000 + time[2]\n"
        "local span = ARGV[2] * 1000\n"
        "local interval = span / ARGV[1]\n"
        "local full = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)\n"
        "local next = full + interval\n"
        "local wait = next - span - now\n"
        "if wait > 0 then return {0, 0, math.ceil(wait / 1000)} end\n"
        "redis.call('SET', KEYS[1], string.format('%.0f', next),\n"
        "           'PX', math.ceil((next - now) / 1000))\n"
        "return {1, math.floor((now + span - next) / interval), 0}\n",
};

const char *shoal_script_text(shoal_script_kind_t kind)
{
    return (unsigned)kind < sizeof texts / sizeof *texts ? texts[kind] : NULL;
}
