import { uninterruptible } from '../pool/threads/hold-exit.js';
import type { CSource } from './compile.js';

/**
 * Calls of machine code from a worker thread, through our own Node addon, compiled like a kernel. koffi maps 3 MiB for
 * each thread that it is loaded in and never unmaps them: three mappings for every thread of every device that was
 * opened and closed. Addresses are plain numbers, below 2^53 as in `libc.ts`.
 */
export interface NativeCalls {
  /** Calls `uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end)` at the address `entry`. */
  run(entry: number, launch: number, begin: number, end: number): number;
  copy(to: number, from: number, bytes: number): void;
  /** Fills 32-bit words. */
  fill(at: number, word: number, words: number): void;
  /** Reads the 32-bit word at an address. */
  word(at: number): number;
}

/** Loads the addon into this thread. */
export function loadCalls(library: string): NativeCalls {
  const module = { exports: {} };
  uninterruptible(() => process.dlopen(module, library));
  return module.exports as NativeCalls;
}

/** Node-API's functions are declared here, according to its stable ABI: not every machine has the headers. */
const text = `#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
extern int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_double(napi_env, napi_value, double *);
extern int napi_create_double(napi_env, double, napi_value *);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_throw_error(napi_env, const char *, const char *);
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

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  static const struct { const char *name; napi_callback call; } all[] = {
    { "run", run }, { "copy", copy }, { "fill", fill }, { "word", word },
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
