import type { Completion, DeviceBuffer, HostMemory, Stream } from '../../../device/device.js';
import { type FlowSlot, hitsIn, type Overflow, type Piece } from '../../../engine/index.js';
import { CHAINS } from '../kernel/kernel.js';
import { BLOCKS } from '../kernel/pads.js';
import { blocksPerLaunch, inThrees, perPadOf, roundsPerLaunch } from '../kernel/plan.js';
import type { Batches, Found, Jobs } from './flow.js';
import type { Place } from './scratch.js';

/** Opens the slot of one batch in flight: scratchpads from the room, and buffers for its result. The first is needed. */
export async function openBatchSlot(
  batches: Batches,
  stream: Stream,
  isNeeded: boolean,
): Promise<FlowSlot<readonly Found[]>> {
  const { room, wanted, ring, programs } = batches;
  const place = await room.take(isNeeded);
  const held: (DeviceBuffer | HostMemory)[] = [];
  const keep = async <T extends DeviceBuffer | HostMemory>(made: Promise<T>): Promise<T> => {
    const memory = await made;
    held.push(memory);
    return memory;
  };
  const free = (): void => {
    for (const memory of held) memory.free();
    room.give(place);
  };
  try {
    const { headerWords, recordWords } = programs.telling.ring;
    const proofWords = headerWords + (wanted === 'all' ? ring : 1) * recordWords;
    const bytes = wanted === 'digests' ? room.plan.batch * 32 : proofWords * 4;
    const { device } = room;
    const [best, result, host] = [
      await keep(device.alloc(4)),
      await keep(device.alloc(bytes)),
      await keep(device.host(bytes)),
    ];
    return new BatchSlot(batches, stream, { place, best, result, host: host.bytes, free });
  } catch (error) {
    free();
    throw error;
  }
}

interface Memory {
  readonly place: Place;
  /** Holds the smallest item that is a proof. */
  readonly best: DeviceBuffer;
  /** The ring of proofs, or the digests, and the host's copy. */
  readonly result: DeviceBuffer;
  readonly host: Uint8Array;
  free(): void;
}

class BatchSlot implements FlowSlot<readonly Found[]> {
  readonly #batches: Batches;
  readonly #stream: Stream;
  readonly #memory: Memory;
  readonly moved = { toDevice: 0, toHost: 0 };

  constructor(batches: Batches, stream: Stream, memory: Memory) {
    this.#batches = batches;
    this.#stream = stream;
    this.#memory = memory;
  }

  submit(piece: Piece, values = 0): Completion {
    const jobs = this.#batches.jobs[values];
    if (jobs === undefined) throw new RangeError(`there is no challenge number ${values}`);
    this.#run(jobs, piece);
    this.#judge(jobs, piece);
    return this.#stream.mark();
  }

  reap(piece: Piece): readonly Found[] | Overflow {
    const { wanted, programs, ring } = this.#batches;
    const { host } = this.#memory;
    if (wanted === 'digests') {
      const digest = (at: number) => Uint8Array.from(host.subarray(at * 32, at * 32 + 32));
      return Array.from({ length: piece.count }, (_, at) => ({ index: piece.start + BigInt(at), hash: digest(at) }));
    }
    const words = new Uint32Array(host.buffer, host.byteOffset, host.byteLength / 4);
    const room = wanted === 'all' ? ring : 1;
    const hits = hitsIn<typeof told>(piece, { words, program: programs.telling, hits: room });
    if (!Array.isArray(hits)) return hits as Overflow;
    return hits.map(({ offset, digest }) => ({ index: piece.start + BigInt(offset), hash: bytesOf(digest) }));
  }

  close(): void {
    this.#memory.free();
  }

  /** Launches seeds, scratchpads and rounds. */
  #run(jobs: Jobs, { start, count }: Piece): void {
    const { plan } = this.#batches.room;
    const { state, pads } = this.#memory.place;
    // Three chains at a time need whole groups of three nonces; results past the piece are ignored.
    const slots = inThrees(count) * CHAINS;
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
  #judge(jobs: Jobs, { count }: Piece): void {
    const { wanted, programs } = this.#batches;
    const { place, best, result, host } = this.#memory;
    const { state } = place;
    const stream = this.#stream;
    if (wanted === 'digests') {
      stream.launch({ job: jobs.telling, count, buffers: { state, digests: result } });
      stream.read(result, host.subarray(0, count * 32));
      this.moved.toHost = count * 32;
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
    this.moved.toHost = host.byteLength;
  }
}

/** Phases are aligned to warps. */
const PHASE_UNIT = 32;

/** The record that `tell` and `tellAll` emit. */
const told = { offset: 'u32', digest: ['u32', 8] } as const;

function bytesOf(words: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  const view = new DataView(bytes.buffer);
  words.forEach((word, at) => {
    view.setUint32(4 * at, word, true);
  });
  return bytes;
}
