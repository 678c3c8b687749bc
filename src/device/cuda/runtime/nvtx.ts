import { koffi } from '../../native/koffi.js';
import { addressOf } from '../../native/libc.js';
import { uninterruptible } from '../../pool/threads/hold-exit.js';
import { cString } from './api.js';
import { findLibrary } from './library.js';

/**
 * Ranges that NVIDIA's profilers draw above the driver's calls (NVTX): one from the first command of a mark to when its
 * end was noticed, one around each launch. Without a profiler the library does nothing and takes some 10 ns a call.
 */
export interface Nvtx {
  readonly path: string;
  /** Starts a range that may overlap others; `end` takes the returned id. */
  start(name: string): RangeId;
  end(range: RangeId): void;
  /** Runs `work` in a range of this thread. */
  around(name: string, work: () => void): void;
}

export type RangeId = number | bigint;

/** Undefined if there is no library: from CUDA 13 on it is a separate package, before that part of every toolkit. */
export function openNvtx(): Nvtx | undefined {
  const found = findLibrary('nvtx');
  if ('reason' in found) return undefined;
  const { path } = found;
  try {
    const [start, end, push, pop] = uninterruptible(() => {
      const library = koffi().load(path);
      return [
        library.func('uint64_t nvtxRangeStartA(uint64_t name)'),
        library.func('void nvtxRangeEnd(uint64_t range)'),
        library.func('int nvtxRangePushA(uint64_t name)'),
        library.func('int nvtxRangePop()'),
      ] as const;
    });
    const names = new Map<string, Uint8Array>();
    const address = (name: string): number => {
      const text = names.get(name) ?? cString(name);
      names.set(name, text);
      return addressOf(text);
    };
    return {
      path,
      // SAFETY: names end with a zero and are kept for as long as the library is used.
      start: (name) => start(address(name)) as RangeId,
      end: (range) => void end(range),
      around: (name, work) => {
        push(address(name)); // SAFETY: as above
        try {
          work();
        } finally {
          pop();
        }
      },
    };
  } catch {
    return undefined; // not NVTX, despite its name
  }
}
