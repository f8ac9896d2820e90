// Preloaded into vectord, it makes the open of a data folder take long: each lock of a file waits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static const unsigned int SECONDS = 60;

int flock(int file, int operation) {
  static int (*real)(int, int);
  if (!real) real = dlsym(RTLD_NEXT, "flock");
  sleep(SECONDS);
  return real(file, operation);
}
