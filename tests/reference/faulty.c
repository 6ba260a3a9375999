/* Let the disk and the clock of a program fail, as LD_PRELOAD, on Linux.

   FAULTY_PATH   a part of the names of the files that are on the bad disk
   FAULTY_FROM   the first read of a process from it that fails with EIO, counted from 1; 0 for none
   FAULTY_EVERY  from there on every so-manieth read fails
   FAULTY_DELAY  microseconds that each read of it takes longer
   FAULTY_JUMP   seconds by which the clock goes wrong: each look at it is between so much early and so much late

   What is mapped into memory is not read, so it does not fail. */

#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long n_reads, n_looks;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* Take the time of a read; return whether it fails. */
static int fails(int descriptor) {
    const char *part = getenv("FAULTY_PATH");
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = part ? readlink(link, path, sizeof path - 1) : -1;
    if (length < 0)
        return 0;
    path[length] = 0;
    if (!strstr(path, part))
        return 0;
    if (number("FAULTY_DELAY"))
        usleep(number("FAULTY_DELAY"));
    long from = number("FAULTY_FROM"), every = number("FAULTY_EVERY"), n = __sync_add_and_fetch(&n_reads, 1);
    if (!from || n < from || (n - from) % (every ? every : 1))
        return 0;
    errno = EIO;
    return 1;
}

ssize_t read(int descriptor, void *buffer, size_t size) {
    return fails(descriptor) ? -1 : syscall(SYS_read, descriptor, buffer, size);
}

ssize_t pread64(int descriptor, void *buffer, size_t size, off64_t offset) {
    return fails(descriptor) ? -1 : syscall(SYS_pread64, descriptor, buffer, size, offset);
}

ssize_t pread(int descriptor, void *buffer, size_t size, off_t offset) {
    return pread64(descriptor, buffer, size, offset);
}

/* Return by how many seconds the clock is wrong this time. */
static long jump(void) {
    long most = number("FAULTY_JUMP");
    return most ? __sync_add_and_fetch(&n_looks, 1) * 7919 % (2 * most + 1) - most : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += jump();
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int status = syscall(SYS_gettimeofday, now, zone);
    now->tv_sec += jump();
    return status;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
