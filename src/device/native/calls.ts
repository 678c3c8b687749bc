import { uninterruptible } from '../pool/threads/hold-exit.js';
import type { CSource } from './compile.js';

/**
 * Calls of machine code and of the C library, through our own Node addon, compiled like a kernel. koffi would map 3 MiB
 * for each thread that it is loaded in and never unmap them: three mappings for every thread of every device that was
 * opened and closed; and it is an optional package. Addresses are plain numbers, below 2^53 as in `libc.ts`.
 */
export interface NativeCalls {
  /** Calls `uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end)` at the address `entry`. */
  run(entry: number, launch: number, begin: number, end: number): number;
  copy(to: number, from: number, bytes: number): void;
  /** Fills 32-bit words. */
  fill(at: number, word: number, words: number): void;
  /** Reads the 32-bit word at an address. */
  word(at: number): number;
  /** Returns the address of an array's bytes; see `addressOf`. */
  address(view: ArrayBufferView): number;
  /** Maps zeroed pages, committed when first touched; returns 0 if the system refuses. */
  map(bytes: number): number;
  unmap(at: number, bytes: number): void;
  /** Asks for huge pages in a range of mapped memory, where the system has them. */
  useHugePages(at: number, bytes: number): void;
  /** Loads a shared library. Throws the loader's error. */
  open(path: string): number;
  /** Returns the address of a library's function. Throws the loader's error. */
  symbol(library: number, name: string): number;
  close(library: number): void;
}

/**
 * Returns the address of an array's bytes. The array must stay referenced while native code may use the address.
 * Reading `.buffer` first makes V8 move a small array off its heap, where the collector would otherwise move it.
 */
export function addressOf(calls: NativeCalls, view: ArrayBufferView): number {
  if (view.byteLength === 0) return 0;
  void view.buffer;
  // SAFETY: off-heap from here on; the callers hold the view until the command that uses it is done.
  return calls.address(view);
}

/** Loads the addon into this thread, once: Node keeps what it has for each load until the thread ends. */
export function loadCalls(library: string): NativeCalls {
  const known = loadedCalls.get(library);
  if (known) return known;
  const module = { exports: {} };
  uninterruptible(() => process.dlopen(module, library));
  const calls = module.exports as NativeCalls;
  loadedCalls.set(library, calls);
  return calls;
}
const loadedCalls = new Map<string, NativeCalls>();

/** Node-API's functions are declared here, according to its stable ABI: not every machine has the headers. */
const text = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
extern int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_double(napi_env, napi_value, double *);
extern int napi_create_double(napi_env, double, napi_value *);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_throw_error(napi_env, const char *, const char *);
extern int napi_get_value_string_utf8(napi_env, napi_value, char *, size_t, size_t *);
extern int napi_is_typedarray(napi_env, napi_value, bool *);
extern int napi_get_typedarray_info(napi_env, napi_value, int *, size_t *, void **, napi_value *, size_t *);
extern int napi_get_dataview_info(napi_env, napi_value, size_t *, void **, napi_value *, size_t *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);

static void take(napi_env env, napi_callback_info info, uint64_t *into, size_t count) {
  napi_value given[4];
  size_t length = count;
  memset(into, 0, count * sizeof *into);
  if (napi_get_cb_info(env, info, &length, given, NULL, NULL) != 0) return;
  for (size_t i = 0; i < count && i < length; i++) {
    double value = 0;
    napi_get_value_double(env, given[i], &value);
    into[i] = (uint64_t)value;
  }
}

static napi_value number(napi_env env, double value) {
  napi_value made = NULL;
  napi_create_double(env, value, &made);
  return made;
}

static napi_value run(napi_env env, napi_callback_info info) {
  uint64_t given[4];
  take(env, info, given, 4);
  uint64_t (*entry)(const uint64_t *, uint64_t, uint64_t) =
      (uint64_t (*)(const uint64_t *, uint64_t, uint64_t))(uintptr_t)given[0];
  if (entry == NULL) {
    napi_throw_error(env, NULL, "a launch names no code");
    return NULL;
  }
  return number(env, (double)entry((const uint64_t *)(uintptr_t)given[1], given[2], given[3]));
}

static napi_value copy(napi_env env, napi_callback_info info) {
  uint64_t given[3];
  take(env, info, given, 3);
  memmove((void *)(uintptr_t)given[0], (const void *)(uintptr_t)given[1], given[2]);
  return NULL;
}

static napi_value fill(napi_env env, napi_callback_info info) {
  uint64_t given[3];
  take(env, info, given, 3);
  uint32_t *at = (uint32_t *)(uintptr_t)given[0];
  for (uint64_t i = 0; i < given[2]; i++) at[i] = (uint32_t)given[1];
  return NULL;
}

static napi_value word(napi_env env, napi_callback_info info) {
  uint64_t given[1];
  take(env, info, given, 1);
  return number(env, *(const volatile uint32_t *)(uintptr_t)given[0]);
}

static napi_value address(napi_env env, napi_callback_info info) {
  napi_value view = NULL;
  size_t length = 1;
  bool typed = false;
  void *data = NULL;
  if (napi_get_cb_info(env, info, &length, &view, NULL, NULL) != 0 || length < 1) return number(env, 0);
  napi_is_typedarray(env, view, &typed);
  if (typed) napi_get_typedarray_info(env, view, NULL, NULL, &data, NULL, NULL);
  else napi_get_dataview_info(env, view, NULL, &data, NULL, NULL);
  return number(env, (double)(uintptr_t)data);
}

static napi_value map(napi_env env, napi_callback_info info) {
  uint64_t given[1];
  take(env, info, given, 1);
  void *at = mmap(NULL, given[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return number(env, 0);
#ifdef MADV_HUGEPAGE
  // First touch at 6.1 GB/s against 2.2, and no page walks later. It is only advice, so the result is ignored.
  if (given[0] >= (uint64_t)4 << 20) madvise(at, given[0], MADV_HUGEPAGE);
#endif
  return number(env, (double)(uintptr_t)at);
}

static napi_value unmap(napi_env env, napi_callback_info info) {
  uint64_t given[2];
  take(env, info, given, 2);
  munmap((void *)(uintptr_t)given[0], given[1]);
  return NULL;
}

static napi_value use_huge_pages(napi_env env, napi_callback_info info) {
  uint64_t given[2];
  take(env, info, given, 2);
#ifdef MADV_HUGEPAGE
  // Whole pages of 4 KiB. Only advice, as in map.
  uint64_t from = (given[0] + 4095) & ~(uint64_t)4095, to = (given[0] + given[1]) & ~(uint64_t)4095;
  if (to > from) madvise((void *)(uintptr_t)from, to - from, MADV_HUGEPAGE);
#endif
  return NULL;
}

static napi_value failed(napi_env env) {
  const char *error = dlerror();
  napi_throw_error(env, NULL, error ? error : "the loader gave no reason");
  return NULL;
}

static napi_value open_library(napi_env env, napi_callback_info info) {
  char path[4096] = "";
  napi_value given = NULL;
  size_t length = 1;
  if (napi_get_cb_info(env, info, &length, &given, NULL, NULL) != 0 || length < 1) return NULL;
  napi_get_value_string_utf8(env, given, path, sizeof path, NULL);
  void *library = dlopen(path, RTLD_NOW);
  return library ? number(env, (double)(uintptr_t)library) : failed(env);
}

static napi_value symbol(napi_env env, napi_callback_info info) {
  char name[256] = "";
  napi_value given[2] = { NULL, NULL };
  size_t length = 2;
  double library = 0;
  if (napi_get_cb_info(env, info, &length, given, NULL, NULL) != 0 || length < 2) return NULL;
  napi_get_value_double(env, given[0], &library);
  napi_get_value_string_utf8(env, given[1], name, sizeof name, NULL);
  void *found = dlsym((void *)(uintptr_t)library, name);
  return found ? number(env, (double)(uintptr_t)found) : failed(env);
}

static napi_value close_library(napi_env env, napi_callback_info info) {
  uint64_t given[1];
  take(env, info, given, 1);
  dlclose((void *)(uintptr_t)given[0]);
  return NULL;
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  static const struct { const char *name; napi_callback call; } all[] = {
    { "run", run }, { "copy", copy }, { "fill", fill }, { "word", word }, { "address", address }, { "map", map },
    { "unmap", unmap }, { "useHugePages", use_huge_pages }, { "open", open_library }, { "symbol", symbol }, { "close", close_library },
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    napi_value made = NULL;
    if (napi_create_function(env, all[i].name, strlen(all[i].name), all[i].call, NULL, &made) != 0) return NULL;
    if (napi_set_named_property(env, exports, all[i].name, made) != 0) return NULL;
  }
  return exports;
}
`;

/** The addon's source. On macOS a linker flag says that Node provides the functions. */
export const nativeCallsSource: CSource = {
  name: 'native-calls',
  text,
  lanes: 1,
  lineOrigins: [],
  flags: process.platform === 'darwin' ? ['-Wl,-undefined,dynamic_lookup'] : [],
};
