/* Finds a function of opencl-shim.c; null if the runtime uses another library. */
#ifndef OPENCL_SHIM_H
#define OPENCL_SHIM_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

static inline void *shim_function(const char *name) {
  const char *path = getenv("MILLRACE_LIBOPENCL");
  void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW);
  return library == NULL ? NULL : dlsym(library, name);
}

#endif
