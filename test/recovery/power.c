// Writes down what a process does to the files of one folder, in the order in which it is done, so
// that it can be worked out afterwards what a power cut would have left: see power-cut.ts.
//
// Loaded by LD_PRELOAD. POWER_FOLDER is the folder, POWER_JOURNAL the file to write to. A call that
// changes files in a way that is not written down ends the process: then the journal would lie.
// Nothing is synced in truth; POWER_DROP names syncs that shall not even be written down,
// `fdatasync` or `folder`, as if they were forgotten.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPENED = 1, CREATED, WRITTEN, SIZED, SYNC_BEGUN, SYNCED, RENAMED, REMOVED, FOLDER_MADE, FOUND, FOUND_ALL };

enum { DESCRIPTORS = 65536 };

// A disk takes its time; most kills come while one syncs.
static const struct timespec SYNC_TIME = {.tv_nsec = 1000 * 1000};

struct entry {
    uint32_t kind;
    uint32_t first_length;
    uint32_t second_length;
    uint32_t unused;
    uint64_t file;
    uint64_t offset;
};

static char folder[PATH_MAX];
static size_t folder_length;
static int journal = -1;
static const char *dropped = "";
// The inode behind each descriptor of a file in the folder, else 0.
static uint64_t files[DESCRIPTORS];
// Held while names change, so that they are written down in the order of the changes.
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((noreturn)) static void give_up(const char *what) {
    dprintf(2, "power.c: %s cannot be simulated\n", what);
    abort();
}

static int is_watched(const char *path) {
    return journal >= 0 && strncmp(path, folder, folder_length) == 0 &&
           (path[folder_length] == '/' || path[folder_length] == 0);
}

static uint64_t file_of(int fd) { return fd >= 0 && fd < DESCRIPTORS ? files[fd] : 0; }

// One call, so that a kill leaves an entry whole or as the torn last one.
static void note(uint32_t kind, uint64_t file, uint64_t offset, const void *first, size_t first_length,
                 const char *second) {
    struct entry entry = {.kind = kind, .first_length = first_length, .file = file, .offset = offset};
    entry.second_length = second == NULL ? 0 : strlen(second);
    struct iovec parts[] = {
        {&entry, sizeof entry}, {(void *)first, first_length}, {(void *)second, entry.second_length}};
    ssize_t length = sizeof entry + first_length + entry.second_length;
    if (syscall(SYS_writev, journal, parts, 3) != length) give_up("a journal that cannot be written");
}

// The process before may have been killed while it wrote an entry.
static void cut_torn_entry(void) {
    struct entry entry;
    struct stat status;
    if (fstat(journal, &status) != 0) give_up("a journal that cannot be read");
    off_t end = 0;
    while (syscall(SYS_pread64, journal, &entry, sizeof entry, end) == sizeof entry) {
        off_t next = end + sizeof entry + entry.first_length + entry.second_length;
        if (next > status.st_size) break;
        end = next;
    }
    if (syscall(SYS_ftruncate, journal, end) != 0) give_up("a journal that cannot be cut");
}

static int note_found(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)place;
    if (kind == FTW_F) note(FOUND, status->st_ino, 0, path, strlen(path), NULL);
    return 0;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("POWER_FOLDER");
    const char *journal_path = getenv("POWER_JOURNAL");
    if (path == NULL || journal_path == NULL) give_up("a run without POWER_FOLDER and POWER_JOURNAL");
    if (getenv("POWER_DROP") != NULL) dropped = getenv("POWER_DROP");
    folder_length = strlen(strcpy(folder, path));
    journal = syscall(SYS_openat, AT_FDCWD, journal_path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (journal < 0) give_up("a journal that cannot be opened");
    cut_torn_entry();
    // Nor may it have come to write down the last change of a name, which this process sees.
    if (nftw(folder, note_found, 8, FTW_PHYS) != 0) give_up("a folder that cannot be read");
    note(FOUND_ALL, 0, 0, NULL, 0, NULL);
}

static int open_file(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
    if (!is_watched(path)) return real(path, flags, mode);
    if (flags & O_APPEND) give_up("O_APPEND");
    pthread_mutex_lock(&names);
    struct stat before, now;
    int was_there = stat(path, &before) == 0;
    int fd = real(path, flags, mode);
    int error = errno;
    if (fd >= DESCRIPTORS) give_up("so many open files");
    if (fd >= 0 && fstat(fd, &now) == 0) {
        files[fd] = now.st_ino;
        note(was_there ? OPENED : CREATED, now.st_ino, 0, path, strlen(path), NULL);
        if (was_there && (flags & O_TRUNC)) note(SIZED, now.st_ino, 0, NULL, 0, NULL);
    }
    pthread_mutex_unlock(&names);
    errno = error;
    return fd;
}

#define OPEN(name)                                                 \
    int name(const char *path, int flags, ...) {                   \
        va_list rest;                                              \
        va_start(rest, flags);                                     \
        mode_t mode = va_arg(rest, mode_t);                        \
        va_end(rest);                                              \
        return open_file(REAL(name), path, flags, mode);           \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                               \
    int name(int at, const char *path, int flags, ...) {           \
        va_list rest;                                              \
        va_start(rest, flags);                                     \
        mode_t mode = va_arg(rest, mode_t);                        \
        va_end(rest);                                              \
        if (is_watched(path) && (flags & (O_WRONLY | O_RDWR))) give_up(#name); \
        return REAL(name)(at, path, flags, mode);                  \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    if (file_of(fd) != 0) files[fd] = 0;
    return REAL(close)(fd);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    uint64_t file = file_of(fd);
    if (file == 0) return REAL(write)(fd, bytes, count);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t written = REAL(write)(fd, bytes, count);
    if (written > 0) note(WRITTEN, file, offset, bytes, written, NULL);
    return written;
}

#define PWRITE(name, offset_t)                                                  \
    ssize_t name(int fd, const void *bytes, size_t count, offset_t offset) {    \
        ssize_t written = REAL(name)(fd, bytes, count, offset);                 \
        uint64_t file = file_of(fd);                                            \
        if (file != 0 && written > 0) note(WRITTEN, file, offset, bytes, written, NULL); \
        return written;                                                         \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define FTRUNCATE(name, offset_t)                                               \
    int name(int fd, offset_t size) {                                           \
        int result = REAL(name)(fd, size);                                      \
        uint64_t file = file_of(fd);                                            \
        if (file != 0 && result == 0) note(SIZED, file, size, NULL, 0, NULL);   \
        return result;                                                          \
    }
FTRUNCATE(ftruncate, off_t)
FTRUNCATE(ftruncate64, off64_t)

static int sync_file(int fd, const char *name) {
    struct stat status;
    if (fstat(fd, &status) != 0) return -1;
    const char *kind = S_ISDIR(status.st_mode) ? "folder" : name;
    uint64_t file = file_of(fd);
    if (file == 0 || strcmp(dropped, kind) == 0) return 0;
    note(SYNC_BEGUN, file, 0, NULL, 0, NULL);
    nanosleep(&SYNC_TIME, NULL);
    note(SYNCED, file, 0, NULL, 0, NULL);
    return 0;
}

int fdatasync(int fd) { return sync_file(fd, "fdatasync"); }
int fsync(int fd) { return sync_file(fd, "fsync"); }

int rename(const char *from, const char *to) {
    if (!is_watched(from) && !is_watched(to)) return REAL(rename)(from, to);
    pthread_mutex_lock(&names);
    int result = REAL(rename)(from, to);
    if (result == 0) note(RENAMED, 0, 0, from, strlen(from), to);
    pthread_mutex_unlock(&names);
    return result;
}

int unlink(const char *path) {
    if (!is_watched(path)) return REAL(unlink)(path);
    pthread_mutex_lock(&names);
    int result = REAL(unlink)(path);
    if (result == 0) note(REMOVED, 0, 0, path, strlen(path), NULL);
    pthread_mutex_unlock(&names);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    if (!is_watched(path)) return REAL(mkdir)(path, mode);
    pthread_mutex_lock(&names);
    int result = REAL(mkdir)(path, mode);
    int error = errno;
    if (result == 0) note(FOLDER_MADE, 0, 0, path, strlen(path), NULL);
    pthread_mutex_unlock(&names);
    errno = error;
    return result;
}

// What the store does not use. If it did, the simulation would have to learn it.
#define ON_FILE(type, name, parameters, fd, arguments) \
    type name parameters {                             \
        if (file_of(fd) != 0) give_up(#name);          \
        return REAL(name) arguments;                   \
    }
#define ON_PATH(name, parameters, path, arguments) \
    int name parameters {                          \
        if (is_watched(path)) give_up(#name);      \
        return REAL(name) arguments;               \
    }
ON_FILE(ssize_t, writev, (int fd, const struct iovec *parts, int count), fd, (fd, parts, count))
ON_FILE(ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), fd, (fd, parts, count, at))
ON_FILE(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), fd, (fd, parts, count, at))
ON_FILE(int, fallocate, (int fd, int mode, off_t at, off_t length), fd, (fd, mode, at, length))
ON_FILE(int, fallocate64, (int fd, int mode, off64_t at, off64_t length), fd, (fd, mode, at, length))
ON_FILE(int, posix_fallocate, (int fd, off_t at, off_t length), fd, (fd, at, length))
ON_FILE(int, posix_fallocate64, (int fd, off64_t at, off64_t length), fd, (fd, at, length))
ON_FILE(int, sync_file_range, (int fd, off64_t at, off64_t length, unsigned flags), fd, (fd, at, length, flags))
ON_FILE(ssize_t, sendfile, (int fd, int from, off_t *at, size_t count), fd, (fd, from, at, count))
ON_FILE(ssize_t, sendfile64, (int fd, int from, off64_t *at, size_t count), fd, (fd, from, at, count))
ON_FILE(ssize_t, copy_file_range, (int from, off64_t *from_at, int fd, off64_t *at, size_t count, unsigned flags), fd,
        (from, from_at, fd, at, count, flags))
ON_FILE(int, dup, (int fd), fd, (fd))
ON_FILE(int, dup2, (int fd, int to), fd, (fd, to))
ON_FILE(int, dup3, (int fd, int to, int flags), fd, (fd, to, flags))
ON_PATH(truncate, (const char *path, off_t size), path, (path, size))
ON_PATH(truncate64, (const char *path, off64_t size), path, (path, size))
ON_PATH(creat, (const char *path, mode_t mode), path, (path, mode))
ON_PATH(creat64, (const char *path, mode_t mode), path, (path, mode))
ON_PATH(link, (const char *from, const char *path), path, (from, path))
ON_PATH(linkat, (int old, const char *from, int at, const char *path, int flags), path, (old, from, at, path, flags))
ON_PATH(renameat, (int old, const char *from, int at, const char *path), path, (old, from, at, path))
ON_PATH(renameat2, (int old, const char *from, int at, const char *path, unsigned flags), path,
        (old, from, at, path, flags))
ON_PATH(unlinkat, (int at, const char *path, int flags), path, (at, path, flags))
ON_PATH(rmdir, (const char *path), path, (path))

// A writable mapping would change the file without a call.
#define MMAP(name, offset_t)                                                              \
    void *name(void *at, size_t length, int protection, int flags, int fd, offset_t from) { \
        int is_written = (flags & MAP_SHARED) && (protection & PROT_WRITE);                \
        if (is_written && !(flags & MAP_ANONYMOUS) && file_of(fd) != 0) give_up(#name);    \
        return REAL(name)(at, length, protection, flags, fd, from);                        \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)
