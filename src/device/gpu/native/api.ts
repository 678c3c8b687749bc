import type { LibraryHandle } from 'koffi';
import { koffi } from '../../native/koffi.js';
import { addressOf } from '../../native/libc.js';
import { uninterruptible } from '../../pool/threads/hold-exit.js';

/**
 * Binds the functions of the library at `path`, which `loadForever` has pinned: once for each `table` and thread, since
 * koffi never releases what it has bound. `declare` throws koffi's error if a function is missing.
 */
export function bindOnce<Api>(path: string, table: object, declare: (library: LibraryHandle) => Api): Api {
  const ofTable = boundLibraries.get(table) ?? new Map<string, unknown>();
  boundLibraries.set(table, ofTable);
  const api = ofTable.get(path) ?? uninterruptible(() => declare(koffi().load(path)));
  ofTable.set(path, api);
  return api as Api;
}

const boundLibraries = new WeakMap<object, Map<string, unknown>>();

/** Memory for output parameters and lists: eight 8-byte cells at a fixed address. */
export class OutParameters {
  readonly #bytes = new ArrayBuffer(64);
  readonly #ints = new Int32Array(this.#bytes);
  readonly #floats = new Float32Array(this.#bytes);
  readonly #wides = new BigUint64Array(this.#bytes);
  readonly address = addressOf(this.#wides);
  /** The address of cell `k`. */
  cellAddress(k: number): number {
    return this.address + 8 * k;
  }
  int(k = 0): number {
    return this.#ints[2 * k] ?? 0;
  }
  /** Words are half a cell. */
  word(k: number): number {
    return (this.#ints[k] ?? 0) >>> 0;
  }
  float(): number {
    return this.#floats[0] ?? 0;
  }
  /** A pointer, handle or size: below 2^53 on all known platforms. */
  wide(k = 0): number {
    return Number(this.#wides[k] ?? 0n);
  }
  time(k = 0): bigint {
    return this.#wides[k] ?? 0n;
  }
  /** Stores a handle or size in a cell and returns the cell's address. */
  put(value: number, k = 0): number {
    this.#ints[2 * k] = value; // modulo 2^32
    this.#ints[2 * k + 1] = Math.floor(value / 2 ** 32);
    return this.cellAddress(k);
  }
}
