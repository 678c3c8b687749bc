import type { BoundJob, Device, DeviceProgram, Stream } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import { headerScan } from './kernel.js';
import { checkNonce } from './reference.js';
import { jobValues, NONCES, openSlot, type Piece, type Result, RING_HITS, type Slot, scan } from './scan.js';

/**
 * Finds nonces on one device: chunks in ascending order, three in flight. It holds programs and rings between blocks;
 * one search at a time.
 */
export class Solver {
  readonly #device: Device;
  readonly #streams: readonly Stream[];
  readonly #scanners = new Map<boolean, Promise<Scanner>>();

  constructor(device: Device) {
    this.#device = device;
    // Two streams let the device start a chunk while the last threads finish the one before it.
    this.#streams = [device.stream(), device.stream()];
  }

  /** Compiles what a target needs, so that the first search is not charged for it. */
  async prepare(target: bigint): Promise<void> {
    await this.#scanner(target);
  }

  /** The smallest valid nonce in `[from, to)` (any one with mode `any`), or null when there is none. */
  async solve(search: Search): Promise<Solution | null> {
    const { prefix, target, from = 0, to = NONCES, mode = 'first', signal, onProgress } = search;
    signal?.throwIfAborted();
    const scanner = await this.#scanner(target);
    const job = scanner.program.bind(jobValues(prefix, target));
    const free = [...scanner.slots];
    const flight: Chunk[] = [];
    const stop = () => {
      for (const stream of this.#streams) stream.cancel();
    };
    signal?.addEventListener('abort', stop, { once: true });
    let next = from;
    let size = LEAST_CHUNK;
    let tried = 0;
    try {
      for (;;) {
        signal?.throwIfAborted();
        while (next < to) {
          const slot = free.shift();
          if (slot === undefined) break;
          const piece = { base: next, count: Math.min(size, to - next) };
          flight.push({ ...piece, slot, result: scan(slot, job, piece) });
          next += piece.count;
        }
        // Taking the oldest chunk first is what makes the answer the smallest: all below it are done by then.
        const chunk = mode === 'any' ? await firstDone(flight) : flight[0];
        if (chunk === undefined) return null;
        const { hits, seconds } = await chunk.result;
        flight.splice(flight.indexOf(chunk), 1);
        const nonces = hits ?? (await rescan(chunk, job));
        for (const nonce of nonces) this.#check(search, chunk, nonce);
        tried += chunk.count;
        onProgress?.(tried);
        const [nonce] = nonces;
        if (nonce !== undefined) return { nonce, hash: checkNonce(prefix, target, nonce).hash, tried };
        size = nextSize(chunk.count, seconds);
        free.push(chunk.slot);
      }
    } catch (error) {
      // A chunk that a cancel cut short says so as an error; the caller hears what the cause was.
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
      stop();
      await Promise.allSettled(flight.map((chunk) => chunk.result));
    }
  }

  async close(): Promise<void> {
    const scanners = await Promise.allSettled(this.#scanners.values());
    for (const scanner of scanners) {
      if (scanner.status === 'fulfilled') for (const slot of scanner.value.slots) slot.ring.free();
    }
    for (const stream of this.#streams) stream.close();
  }

  /** Below 2^224 a digest's top word must be zero, which is the cheapest test there is: a variant of its own. */
  #scanner(target: bigint): Promise<Scanner> {
    const topWordZero = target < 1n << 224n;
    const known = this.#scanners.get(topWordZero);
    if (known) return known;
    const made = openScanner(this.#device, this.#streams, topWordZero);
    this.#scanners.set(topWordZero, made);
    return made;
  }

  /** Every hit is recomputed by code that shares nothing with the kernel. */
  #check({ prefix, target }: Search, { base, count }: Piece, nonce: number): void {
    const { id, name } = this.#device.info;
    const { valid, hash } = checkNonce(prefix, target, nonce);
    if (nonce < base || nonce >= base + count) {
      throw wrong(
        this.#device,
        { base, count },
        `${id} (${name}) reported nonce ${nonce} for ${base} to ${base + count}`,
      );
    }
    if (valid) return;
    const found = `${id} (${name}) reported nonce ${nonce}, but its hash ${hash} is not below the target`;
    throw wrong(this.#device, { base, count }, found);
  }
}

export interface Search {
  /** The first 76 bytes of the header. */
  readonly prefix: Uint8Array;
  readonly target: bigint;
  /** Default 0. */
  readonly from?: number;
  /** Not included; default 2^32. */
  readonly to?: number;
  readonly mode?: 'first' | 'any';
  readonly signal?: AbortSignal;
  /** Called after each chunk with the number of nonces tried so far. */
  readonly onProgress?: (tried: number) => void;
}

export interface Solution {
  readonly nonce: number;
  readonly hash: string;
  readonly tried: number;
}

/** The next chunk's size: toward 50 ms, at most four times and at least half of the last one's. */
export function nextSize(count: number, seconds: number): number {
  const wanted = Math.min(Math.max((count * CHUNK_SECONDS) / seconds, count / 2), count * 4);
  return Math.min(Math.max(Math.round(wanted / LEAST_CHUNK) * LEAST_CHUNK, LEAST_CHUNK), 2 ** 30);
}

/** Fewer than a ring holds, so the first chunks of a search cannot overflow; and under a second on the interpreter. */
const LEAST_CHUNK = 256;
const CHUNK_SECONDS = 0.05;
const SLOTS = 3;

/** A variant of the kernel, ready to run. */
interface Scanner {
  readonly program: DeviceProgram;
  readonly slots: readonly Slot[];
}

interface Chunk extends Piece {
  readonly slot: Slot;
  readonly result: Promise<Result>;
}

async function openScanner(device: Device, streams: readonly Stream[], topWordZero: boolean): Promise<Scanner> {
  const program = await device.compile(headerScan({ topWordZero }));
  const slots: Slot[] = [];
  for (let at = 0; at < SLOTS; at += 1) {
    const stream = streams[at % streams.length];
    if (stream) slots.push(await openSlot(device, program, stream));
  }
  return { program, slots };
}

/** Scans a chunk whose ring overflowed again in halves, and those again, until the smallest hits fit. */
async function rescan(chunk: Chunk, job: BoundJob): Promise<readonly number[]> {
  const pieces = halves(chunk, job.program.device);
  for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
    const { hits } = await scan(chunk.slot, job, piece);
    if (hits === undefined) pieces.unshift(...halves(piece, job.program.device));
    else if (hits.length > 0) return hits; // all that follow are larger
  }
  return [];
}

function halves(piece: Piece, device: Device): Piece[] {
  const { base, count } = piece;
  if (count <= RING_HITS) {
    throw wrong(device, piece, `${device.info.id} reported more than ${count} hits among ${count} nonces`);
  }
  const half = Math.ceil(count / 2);
  return [
    { base, count: half },
    { base: base + half, count: count - half },
  ];
}

const firstDone = (flight: readonly Chunk[]): Promise<Chunk> | undefined =>
  flight.length === 0 ? undefined : Promise.race(flight.map((chunk) => chunk.result.then(() => chunk)));

function wrong({ info: { id } }: Device, { base, count }: Piece, message: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message,
    asked: `nonces ${base} to ${base + count} on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; do not use this device until it passes`,
  });
}
