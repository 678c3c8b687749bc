import type { Completion, DeviceBuffer, HostMemory, Stream } from '../../../device/device.js';
import { type FlowSlot, hitsIn, type Overflow, type Piece } from '../../../engine/index.js';
import { CHAINS } from '../kernel/kernel.js';
import { BLOCKS } from '../kernel/pads.js';
import { blocksPerLaunch, perPadOf, roundsPerLaunch, roundUpToThree } from '../kernel/plan.js';
import type { BatchContext, BatchJobs, NonceDigest } from './flow.js';
import type { ScratchBuffers } from './scratch.js';

/** Opens the slot of one batch in flight: scratchpads from the pool, and buffers for its result. With `isNeeded` it waits for scratchpads. */
export async function openBatchSlot(
  batches: BatchContext,
  stream: Stream,
  isNeeded: boolean,
): Promise<FlowSlot<readonly NonceDigest[]>> {
  const { pool, wanted, ring, programs } = batches;
  const scratch = await pool.acquire(isNeeded);
  const allocated: (DeviceBuffer | HostMemory)[] = [];
  const keep = async <T extends DeviceBuffer | HostMemory>(made: Promise<T>): Promise<T> => {
    const memory = await made;
    allocated.push(memory);
    return memory;
  };
  const free = (): void => {
    for (const memory of allocated) memory.free();
    pool.release(scratch);
  };
  try {
    const { headerWords, recordWords } = programs.telling.ring;
    const proofWords = headerWords + (wanted === 'all' ? ring : 1) * recordWords;
    const bytes = wanted === 'digests' ? pool.plan.batch * 32 : proofWords * 4;
    const { device } = pool;
    const [best, result, host] = [
      await keep(device.alloc(4)),
      await keep(device.alloc(bytes)),
      await keep(device.host(bytes)),
    ];
    return new BatchSlot(batches, stream, { scratch, best, result, host: host.bytes, free });
  } catch (error) {
    free();
    throw error;
  }
}

interface SlotMemory {
  readonly scratch: ScratchBuffers;
  /** Holds the smallest item that is a proof. */
  readonly best: DeviceBuffer;
  /** The ring of proofs, or the digests, and the host's copy. */
  readonly result: DeviceBuffer;
  readonly host: Uint8Array;
  free(): void;
}

class BatchSlot implements FlowSlot<readonly NonceDigest[]> {
  readonly #context: BatchContext;
  readonly #stream: Stream;
  readonly #memory: SlotMemory;
  readonly copiedBytes = { toDevice: 0, toHost: 0 };

  constructor(batches: BatchContext, stream: Stream, memory: SlotMemory) {
    this.#context = batches;
    this.#stream = stream;
    this.#memory = memory;
  }

  submit(piece: Piece, values = 0): Completion {
    const jobs = this.#context.jobs[values];
    if (jobs === undefined) throw new RangeError(`there is no challenge number ${values}`);
    this.#launchRounds(jobs, piece);
    this.#readResult(jobs, piece);
    return this.#stream.mark();
  }

  reap(piece: Piece): readonly NonceDigest[] | Overflow {
    const { wanted, programs, ring } = this.#context;
    const { host } = this.#memory;
    if (wanted === 'digests') {
      const digest = (at: number) => Uint8Array.from(host.subarray(at * 32, at * 32 + 32));
      return Array.from({ length: piece.count }, (_, at) => ({ index: piece.start + BigInt(at), hash: digest(at) }));
    }
    const words = new Uint32Array(host.buffer, host.byteOffset, host.byteLength / 4);
    const capacity = wanted === 'all' ? ring : 1;
    const hits = hitsIn<typeof proofRecord>(piece, { words, program: programs.telling, hits: capacity });
    if (!Array.isArray(hits)) return hits as Overflow;
    return hits.map(({ offset, digest }) => ({ index: piece.start + BigInt(offset), hash: bytesOf(digest) }));
  }

  close(): void {
    this.#memory.free();
  }

  /** Launches seeds, scratchpads and rounds. */
  #launchRounds(jobs: BatchJobs, { start, count }: Piece): void {
    const { plan } = this.#context.pool;
    const { state, pads } = this.#memory.scratch;
    // Three chains at a time need whole groups of three nonces; results past the piece are ignored.
    const slots = roundUpToThree(count) * CHAINS;
    const perPhase = Math.ceil(slots / 3 / PHASE_UNIT) * PHASE_UNIT;
    const perPad = perPadOf(plan);
    const [blocks, rounds] = [blocksPerLaunch(plan), roundsPerLaunch(plan)];
    const nonce = [Number(start & 0xffff_ffffn), Number((start >> 32n) & 0xffff_ffffn)];
    const stream = this.#stream;
    stream.launch({ job: jobs.seeding, count: slots, chunk: { nonce }, buffers: { state } });
    const filled = plan.tile
      ? { count: Math.ceil(slots / plan.tile.chains), more: { slots } }
      : { count: slots, more: {} };
    for (let from = 0; from < BLOCKS; from += blocks) {
      const chunk = { from, blocks, perPad, ...filled.more };
      stream.launch({ job: jobs.filling, count: filled.count, chunk, buffers: { state, ...pads } });
    }
    for (let launch = 0; launch < plan.launches; launch++) {
      stream.launch({
        job: jobs.mixing,
        count: plan.chainsPerItem === 3 ? slots / 3 : 3 * perPhase,
        chunk: { from: launch * rounds, rounds, nonces: count, turn: Number(start % 3n), perPhase, perPad },
        buffers: { state, ...pads },
      });
    }
  }

  /** Compares the final states with the difficulty, and reads the result back. */
  #readResult(jobs: BatchJobs, { count }: Piece): void {
    const { wanted, programs } = this.#context;
    const { scratch, best, result, host } = this.#memory;
    const { state } = scratch;
    const stream = this.#stream;
    if (wanted === 'digests') {
      stream.launch({ job: jobs.telling, count, buffers: { state, digests: result } });
      stream.read(result, host.subarray(0, count * 32));
      this.copiedBytes.toHost = count * 32;
      return;
    }
    stream.fill(result, 0, 0, programs.telling.ring.headerWords * 4);
    if (jobs.judging) {
      stream.fill(best, 0xffff_ffff);
      stream.launch({ job: jobs.judging, count, buffers: { state, best } });
      stream.launch({ job: jobs.telling, count: 1, buffers: { state, best }, ring: result });
    } else {
      stream.launch({ job: jobs.telling, count, buffers: { state }, ring: result });
    }
    stream.read(result, host);
    this.copiedBytes.toHost = host.byteLength;
  }
}

/** Phases are aligned to warps. */
const PHASE_UNIT = 32;

/** The record that `emitBest` and `emitAll` emit. */
const proofRecord = { offset: 'u32', digest: ['u32', 8] } as const;

function bytesOf(words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  const view = new DataView(bytes.buffer);
  words.forEach((word, at) => {
    view.setUint32(4 * at, word, true);
  });
  return bytes;
}
