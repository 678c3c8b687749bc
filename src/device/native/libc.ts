import { constants } from 'node:os';
import { uninterruptible } from '../pool/threads/hold-exit.js';
import { koffi, koffiIfInstalled } from './koffi.js';

/**
 * The C library, called through koffi. Addresses are plain numbers: user space ends at 2^47 or 2^48 on supported
 * systems, far below 2^53, and a number costs 0.09 µs a call where a bigint costs 0.5 µs.
 *
 * `load(null)` is the running process itself, so this finds the same symbols with glibc, musl and on macOS.
 */
function bind() {
  const library = koffi().load(null);
  return {
    dlopen: library.func('uint64_t dlopen(const char *path, int mode)'),
    dlsym: library.func('uint64_t dlsym(uint64_t library, const char *name)'),
    dlerror: library.func('const char *dlerror()'),
    mmap: library.func('uint64_t mmap(uint64_t at, uint64_t bytes, int protect, int flags, int file, int64_t offset)'),
    munmap: library.func('int munmap(uint64_t at, uint64_t bytes)'),
    madvise: library.func('int madvise(uint64_t at, uint64_t bytes, int advice)'),
    memmove: library.func('uint64_t memmove(uint64_t to, uint64_t from, uint64_t bytes)'),
    sigaction: library.func('int sigaction(int signal, uint64_t action, uint64_t old)'),
  };
}

/** Bound by the first call, which throws if koffi is not installed. */
function libc(): ReturnType<typeof bind> {
  bound ??= uninterruptible(bind);
  return bound;
}
let bound: ReturnType<typeof bind> | undefined;

const isMac = process.platform === 'darwin';
const RTLD_NOW = 2;
const RTLD_NODELETE = isMac ? 0x80 : 0x1000;
const PROT_READ_WRITE = 3;
const MAP_PRIVATE_ANONYMOUS = isMac ? 0x1002 : 0x22;
const MAP_NORESERVE = isMac ? 0x40 : 0x4000;
const MADV_HUGEPAGE = 14;
const HUGE_BYTES = 2 ** 21;
const PR_SET_TIMERSLACK = 29;

/**
 * Loads a library for the life of the process. NODELETE because koffi and the loader unload at teardown, and code that
 * a thread still runs must not be unmapped. Throws the loader's error.
 */
export function loadForever(path: string): number {
  const library = Number(libc().dlopen(path, RTLD_NOW | RTLD_NODELETE));
  if (library === 0) throw new Error(String(libc().dlerror() ?? `cannot load ${path}`));
  return library;
}

/** Like `loadForever`, but returns the loader's error message if it fails. */
export function loadError(path: string): string | undefined {
  try {
    loadForever(path);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Runs `work`, then restores the process's signal actions of which only the flags have changed. NVRTC saves handlers by
 * `signal()` while it compiles, and the restored ones have lost SA_RESETHAND: Node's handler for SIGINT and SIGTERM,
 * which raises the signal again to die of it, then raises it for ever.
 */
export function preservingSignals<T>(work: () => T): T {
  if (process.platform === 'win32') return work();
  const before = signals.map(signalAction);
  try {
    return work();
  } finally {
    for (const [i, signal] of signals.entries()) {
      const [old, now] = [before[i], signalAction(signal)];
      if (!old || !now || !old.subarray(0, 8).equals(now.subarray(0, 8)) || old.equals(now)) continue;
      // SAFETY: a whole action as the system gave it, with the same handler as now.
      libc().sigaction(signal, addressOf(old), 0);
    }
  }
}

/** SIGHUP, SIGINT, SIGQUIT, SIGTERM: signals that end a process from outside. */
const signals = [1, 2, 3, 15];

/**
 * Returns the action of a signal, handler first, as the system stores it; with space for the largest (152 bytes with
 * glibc).
 */
function signalAction(signal: number): Buffer | undefined {
  const action = Buffer.alloc(256);
  // SAFETY: the system writes one action into 256 bytes that outlive the call.
  return libc().sigaction(signal, 0, addressOf(action)) === 0 ? action : undefined;
}

export function symbolAddress(library: number, name: string): number {
  const address = Number(libc().dlsym(library, name));
  if (address === 0) throw new Error(String(libc().dlerror() ?? `no symbol ${name}`));
  return address;
}

/** Returns the address of a function of the C library, or of another library that is loaded globally. */
export function globalSymbolAddress(name: string): number {
  const address = Number(libc().dlsym(isMac ? 0xffff_ffff_ffff_fffen : 0, name)); // RTLD_DEFAULT
  if (address === 0) throw new Error(String(libc().dlerror() ?? `no symbol ${name}`));
  return address;
}

/** Maps zeroed pages, committed when first touched; returns 0 if the system refuses. */
export function mapPages(bytes: number): number {
  // SAFETY: anonymous and private, at an address the kernel chooses; the length is a positive whole number.
  const at = BigInt(libc().mmap(0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (at === 0xffff_ffff_ffff_ffffn) return 0;
  const address = Number(at);
  // Huge pages: first touch at 6.1 GB/s against 2.2, and no page walks later. It is only advice, so the result is
  // ignored.
  if (!isMac && bytes >= 2 * HUGE_BYTES) libc().madvise(address, bytes, MADV_HUGEPAGE);
  return address;
}

export function unmapPages(address: number, bytes: number): void {
  // SAFETY: the caller owns this mapping and no queued command refers to it any more (`buffer.ts`).
  libc().munmap(address, bytes);
}

export function copyBytes(to: number, from: number, bytes: number): void {
  // SAFETY: both ranges were checked when the command was queued (`launch.ts`) and are held until it is done.
  libc().memmove(to, from, bytes);
}

/**
 * Returns the address of an array's bytes. The array must stay referenced while native code may use the address.
 * Reading `.buffer` first makes V8 move a small array off its heap, where the collector would otherwise move it.
 */
export function addressOf(view: ArrayBufferView): number {
  if (view.byteLength === 0) return 0;
  void view.buffer;
  // SAFETY: off-heap from here on; the callers hold the view until the command that uses it is done.
  return Number(koffi().address(view));
}

/** Returns a native library's memory as bytes. It must stay mapped as long as the array is reachable. */
export function bytesAt(address: number, bytes: number): Uint8Array {
  // SAFETY: the caller knows the library's guarantee for these bytes.
  return new Uint8Array(koffi().view(BigInt(address), bytes));
}

/**
 * Takes the system's exclusive lock on an open file or folder, without waiting. The lock is released when the file is
 * closed, at the latest when the process ends in any way. `unsupported` if the file system has no locks, or koffi is not
 * installed.
 */
export function lockFile(file: number): 'taken' | 'held elsewhere' | 'unsupported' {
  const c = koffiIfInstalled();
  if (c === undefined) return 'unsupported';
  // SAFETY: takes two numbers; a file that is not open is an error.
  if (c.load(null).func('int flock(int file, int operation)')(file, LOCK_EX | LOCK_NB) === 0) return 'taken';
  return c.errno() === constants.errno.EWOULDBLOCK ? 'held elsewhere' : 'unsupported';
}

/** True if `lockFile` can lock files. */
export const hasFileLocks = (): boolean => koffiIfInstalled() !== undefined;

const LOCK_EX = 2;
const LOCK_NB = 4;

/** Ends the process at once, without running exit handlers of Node or of libraries. Returns if koffi is not installed. */
export function exitNow(status: number): void {
  koffiIfInstalled()?.load(null).func('void _exit(int status)')(status);
}

/** Makes sleeps of the calling thread precise: 50 µs take 57, not the 111 of Linux's default. */
export function setPreciseTimers(): void {
  if (process.platform !== 'linux') return;
  const prctl = koffi().load(null).func('int prctl(int option, uint64_t value, uint64_t b, uint64_t c, uint64_t d)');
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}
