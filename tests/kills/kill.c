/* Counts requests to the disk below KILLS_UNDER, and kills the process before the n-th: KILLS_AT="write 12". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { FSYNC, RENAME, UNLINK, WRITE, KINDS };
static const char *names[KINDS] = {"fsync", "rename", "unlink", "write"};
static long counts[KINDS];

static int below(const char *path) {
    const char *under = getenv("KILLS_UNDER");
    return under && path && strncmp(path, under, strlen(under)) == 0;
}

static int of_descriptor(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int of_path(int folder, const char *path) {
    char here[PATH_MAX];
    if (path[0] == '/') return below(path);
    if (folder != AT_FDCWD) return of_descriptor(folder);
    return getcwd(here, sizeof here) && below(here);
}

static void request(int kind) {
    const char *at = getenv("KILLS_AT");
    long now = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_SEQ_CST);
    size_t length = strlen(names[kind]);
    if (at && strncmp(at, names[kind], length) == 0 && atol(at + length) == now) kill(getpid(), SIGKILL);
}

long kills_count(int kind) { return counts[kind]; }
void kills_reset(void) { memset(counts, 0, sizeof counts); }

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

int fsync(int fd) { REAL(fsync); if (of_descriptor(fd)) request(FSYNC); return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); if (of_descriptor(fd)) request(FSYNC); return real(fd); }
ssize_t write(int fd, const void *data, size_t n) {
    REAL(write); if (fd > 2 && of_descriptor(fd)) request(WRITE); return real(fd, data, n);
}
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
    REAL(pwrite); if (of_descriptor(fd)) request(WRITE); return real(fd, data, n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) {
    REAL(pwrite64); if (of_descriptor(fd)) request(WRITE); return real(fd, data, n, at);
}
int rename(const char *a, const char *b) {
    REAL(rename); if (of_path(AT_FDCWD, a)) request(RENAME); return real(a, b);
}
int renameat(int da, const char *a, int db, const char *b) {
    REAL(renameat); if (of_path(da, a)) request(RENAME); return real(da, a, db, b);
}
int unlink(const char *a) { REAL(unlink); if (of_path(AT_FDCWD, a)) request(UNLINK); return real(a); }
int unlinkat(int d, const char *a, int flags) {
    REAL(unlinkat); if (of_path(d, a)) request(UNLINK); return real(d, a, flags);
}
