/*
 * Records and fails file accesses: loaded before the C library (LD_PRELOAD), it intercepts calls for the files under
 * DISK_ROOT. With DISK_LOG every change is recorded, in order, with its bytes and with each fsync, so that a test can create
 * any state that a power loss could have left. While the file that DISK_FULL names exists, writes fail as on a full disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPENED = 1, WRITTEN, CUT, SYNCED, REMOVED, RENAMED };

static char *paths[4096];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -2;

/* Forks only while no thread holds the lock: in the child that thread would not exist, and never unlock it. */
static void lock(void) { pthread_mutex_lock(&turn); }
static void unlock(void) { pthread_mutex_unlock(&turn); }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(lock, unlock, unlock); }

static int is_watched(const char *path) {
  const char *root = getenv("DISK_ROOT");
  return root && path && !strncmp(path, root, strlen(root)) && !strstr(path, "-shm") && !strstr(path, "/locks");
}

static const char *path_of(int fd) { return fd >= 0 && fd < 4096 ? paths[fd] : NULL; }

static int is_full(void) {
  const char *full = getenv("DISK_FULL");
  return full && syscall(SYS_faccessat, AT_FDCWD, full, F_OK) == 0;
}

static void put(const void *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t done = syscall(SYS_write, log_fd, (const char *)bytes + at, length - at);
    if (done <= 0) abort();
    at += done;
  }
}

static void record(uint32_t what, const char *path, uint64_t offset, const void *bytes, uint64_t length) {
  const char *name = getenv("DISK_LOG");
  if (!name) return;
  if (log_fd == -2) log_fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  uint32_t head[2] = {what, (uint32_t)strlen(path)};
  uint64_t tail[2] = {offset, length};
  put(head, sizeof head);
  put(tail, sizeof tail);
  put(path, head[1]);
  if (bytes) put(bytes, length);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int fd, const char *path, int flags) {
  if (fd < 0 || fd >= 4096) return fd;
  free(paths[fd]);
  paths[fd] = is_watched(path) ? strdup(path) : NULL;
  if (paths[fd] && (flags & (O_CREAT | O_TRUNC))) record(OPENED, path, 0, NULL, (flags & O_TRUNC) != 0);
  return fd;
}

#define OPEN(name)                                                     \
  int name(const char *path, int flags, ...) {                         \
    va_list more;                                                      \
    va_start(more, flags);                                             \
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;          \
    va_end(more);                                                      \
    pthread_mutex_lock(&turn);                                         \
    int fd = opened(REAL(name)(path, flags, mode), path, flags);       \
    pthread_mutex_unlock(&turn);                                       \
    return fd;                                                         \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  pthread_mutex_lock(&turn);
  if (fd >= 0 && fd < 4096 && paths[fd]) {
    free(paths[fd]);
    paths[fd] = NULL;
  }
  int result = REAL(close)(fd);
  pthread_mutex_unlock(&turn);
  return result;
}

#define PWRITE(name, offset_t)                                                   \
  ssize_t name(int fd, const void *bytes, size_t length, offset_t offset) {      \
    const char *path = path_of(fd);                                              \
    if (!path) return REAL(name)(fd, bytes, length, offset);                     \
    if (is_full()) return errno = ENOSPC, -1;                                    \
    pthread_mutex_lock(&turn);                                                   \
    ssize_t done = REAL(name)(fd, bytes, length, offset);                        \
    if (done > 0) record(WRITTEN, path, offset, bytes, done);                    \
    pthread_mutex_unlock(&turn);                                                 \
    return done;                                                                 \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *bytes, size_t length) {
  const char *path = path_of(fd);
  if (!path) return REAL(write)(fd, bytes, length);
  if (is_full()) return errno = ENOSPC, -1;
  pthread_mutex_lock(&turn);
  struct stat state;
  int is_appending = fcntl(fd, F_GETFL) & O_APPEND;
  off_t offset = is_appending && fstat(fd, &state) == 0 ? state.st_size : lseek(fd, 0, SEEK_CUR);
  ssize_t done = REAL(write)(fd, bytes, length);
  if (done > 0) record(WRITTEN, path, offset, bytes, done);
  pthread_mutex_unlock(&turn);
  return done;
}

#define TRUNCATE(name, offset_t)                                    \
  int name(int fd, offset_t length) {                               \
    const char *path = path_of(fd);                                 \
    pthread_mutex_lock(&turn);                                      \
    int result = REAL(name)(fd, length);                            \
    if (path && result == 0) record(CUT, path, length, NULL, 0);    \
    pthread_mutex_unlock(&turn);                                    \
    return result;                                                  \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define SYNC(name)                                                  \
  int name(int fd) {                                                \
    const char *path = path_of(fd);                                 \
    pthread_mutex_lock(&turn);                                      \
    int result = REAL(name)(fd);                                    \
    if (path && result == 0) record(SYNCED, path, 0, NULL, 0);      \
    pthread_mutex_unlock(&turn);                                    \
    return result;                                                  \
  }
SYNC(fsync)
SYNC(fdatasync)

int unlink(const char *path) {
  pthread_mutex_lock(&turn);
  int result = REAL(unlink)(path);
  if (result == 0 && is_watched(path)) record(REMOVED, path, 0, NULL, 0);
  pthread_mutex_unlock(&turn);
  return result;
}

int rename(const char *from, const char *to) {
  pthread_mutex_lock(&turn);
  int result = REAL(rename)(from, to);
  if (result == 0 && is_watched(from)) record(RENAMED, from, 0, to, strlen(to));
  pthread_mutex_unlock(&turn);
  return result;
}
