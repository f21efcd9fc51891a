/* An allocator for LD_PRELOAD that refuses some allocations of chosen sizes. The process under test calls
 * faults_arm() and faults_disarm() by ctypes; before that, and in between, every call goes to glibc. */

#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

/* How many allocations of each size there were while they were recorded. */
#define RECORDED (1 << 20)
static atomic_uint counts[RECORDED];
static atomic_int recording;

/* Starts or ends recording. */
void faults_record(int on) {
    atomic_store(&recording, on);
}

/* How many allocations of this size were recorded. */
unsigned faults_recorded(size_t size) {
    return size < RECORDED ? atomic_load(&counts[size]) : 0;
}

static atomic_int armed;
static atomic_long seen, refused;
static size_t least, most;
static long first, count;

/* Refuses `number` allocations of `from` to `to` bytes after the first `after` ones. */
void faults_arm(size_t from, size_t to, long after, long number) {
    least = from;
    most = to;
    first = after;
    count = number;
    atomic_store(&seen, 0);
    atomic_store(&refused, 0);
    atomic_store(&armed, 1);
}

/* Ends it; how many such allocations there were. */
long faults_disarm(void) {
    atomic_store(&armed, 0);
    return atomic_load(&seen);
}

/* How many were refused. */
long faults_refused(void) {
    return atomic_load(&refused);
}

static int refuses(size_t size) {
    if (atomic_load(&recording) && size < RECORDED)
        atomic_fetch_add(&counts[size], 1);
    if (!atomic_load(&armed) || size < least || size > most)
        return 0;
    long number = atomic_fetch_add(&seen, 1);
    if (number < first || number - first >= count)
        return 0;
    atomic_fetch_add(&refused, 1);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) {
    return refuses(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t items, size_t size) {
    size_t all;
    if (__builtin_mul_overflow(items, size, &all) || refuses(all))
        return NULL;
    return __libc_calloc(items, size);
}

void *realloc(void *block, size_t size) {
    return refuses(size) ? NULL : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    return refuses(size) ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (made == NULL)
        return ENOMEM;
    *block = made;
    return 0;
}

/* Shows where the process ends. C++ calls this if nothing catches an exception, below the frame that has thrown it. */
void abort(void) {
    void *frames[64];
    atomic_store(&armed, 0);
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    _exit(134);
}
