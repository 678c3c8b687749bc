import type { BoundJob, Device, DeviceProgram } from '../../../device/device.js';
import { programOf } from '../../../engine/flow/programs.js';
import type { Flow, OpenFlow } from '../../../engine/index.js';
import { LruCache } from '../../../engine/telemetry/lru-cache.js';
import type { Kernel } from '../../../kernel/index.js';
import { fill } from '../kernel/fill.js';
import { digests, emitAll, emitBest, findBest, mix, seeds, type Variant } from '../kernel/kernel.js';
import type { Plan, PlanOptions } from '../kernel/plan.js';
import { ScratchMemory, type ScratchPool } from './scratch.js';
import { openBatchSlot } from './slot.js';

/** The challenge of a search for proofs. */
export interface Challenge {
  /** The bytes before the nonce. */
  readonly header: Uint8Array;
  /** Leading zero bits. */
  readonly difficulty: number;
}

/** A nonce and its digest. */
export interface NonceDigest {
  readonly index: bigint;
  readonly hash: Uint8Array;
}

/** The result of a batch: the proof with the smallest nonce, all proofs, or all digests. */
export type ResultKind = 'first' | 'all' | 'digests';

export interface ProofOptions extends PlanOptions {
  /** Default `first`: then the number of bytes read back does not depend on the batch. */
  readonly wanted?: ResultKind;
  /** Capacity for proofs of one batch, with `all`; a batch with more is run again in smaller pieces. Default 256. */
  readonly ring?: number;
  /** Memory that outlives the search. Default: allocated for the search. */
  readonly scratch?: ScratchMemory;
  /** Challenges of canaries, numbered from 1. */
  readonly canaryChallenges?: readonly Challenge[];
  /** The tuned options of a device, used where none are given (tune.ts). */
  readonly tuned?: (device: Device) => Promise<PlanOptions>;
  /** Called with each device's plan, after its memory is allocated. */
  readonly onPlan?: (device: Device, plan: Plan) => void;
}

/** Proofs as a flow for `search`: one chunk is a batch of nonces through five kernels, which stays on the device. */
export function proofs(challenge: Challenge, options: ProofOptions = {}): Flow<readonly NonceDigest[]> {
  const { wanted = 'first', ring = 256, scratch, canaryChallenges = [], tuned, onPlan, ...planOptions } = options;
  return {
    name: 'uhash',
    async open(device, { slots = 1 } = {}) {
      const own = scratch ?? new ScratchMemory();
      const free = (): void => {
        if (own !== scratch) void own.close();
      };
      try {
        const pool = await own.poolFor(device, { ...(await tuned?.(device)), ...planOptions }, slots);
        onPlan?.(device, pool.plan);
        return await open(pool, [challenge, ...canaryChallenges], { wanted, ring }, free);
      } catch (error) {
        free();
        throw error;
      }
    },
  };
}

/** The state that all batches of an open flow share. */
export interface BatchContext {
  readonly pool: ScratchPool;
  readonly wanted: ResultKind;
  /** Capacity of the ring, in proofs. */
  readonly ring: number;
  readonly programs: BatchPrograms;
  /** Number 0 is the challenge itself, the others are the canaries'. */
  readonly jobs: readonly BatchJobs[];
}

export interface BatchJobs {
  readonly seeding: BoundJob;
  readonly filling: BoundJob;
  readonly mixing: BoundJob;
  /** Set if only the first proof is wanted. */
  readonly judging: BoundJob | undefined;
  readonly telling: BoundJob;
}

interface BatchPrograms {
  readonly filling: DeviceProgram;
  readonly mixing: DeviceProgram;
  readonly judging: DeviceProgram | undefined;
  readonly telling: DeviceProgram;
}

async function open(
  pool: ScratchPool,
  challenges: readonly Challenge[],
  { wanted, ring }: Required<Pick<ProofOptions, 'wanted' | 'ring'>>,
  free: () => void,
): Promise<OpenFlow<readonly NonceDigest[]>> {
  const { device, plan } = pool;
  const { chainsPerItem, copies, tables, rolled = false, early = false, pads, tile = false } = plan;
  const variant: Variant = { chainsPerItem, copies, tables, rolled, early, pads, tile };
  const lanes = plan.lanes === undefined ? {} : { lanes: plan.lanes };
  const shape = JSON.stringify([variant, plan.lanes]);
  const last = { first: emitBest, all: emitAll, digests }[wanted] as unknown as Kernel;
  const compile = (key: string, make: () => unknown, compileOptions = {}) => {
    const kernel = kernelCache.get(key, () => make() as Kernel);
    return programOf(device, kernel, compileOptions);
  };
  const [filling, mixing, judging, telling] = await Promise.all([
    compile(`fill ${shape}`, () => fill(variant), tile ? { lanes: tile.chains } : lanes),
    compile(`mix ${shape}`, () => mix(variant), lanes),
    wanted === 'first' ? compile('judge', () => findBest) : undefined,
    compile(`last ${wanted}`, () => last),
  ]);
  const programs = { filling, mixing, judging, telling };
  const jobs = await Promise.all(
    challenges.map(async ({ header, difficulty }) => {
      const seeding = await compile(`seeds ${header.length}`, () => seeds({ headerBytes: header.length }));
      return {
        seeding: seeding.bind({ header: wordsOf(header) }),
        filling: filling.bind({}),
        mixing: mixing.bind({}),
        judging: judging?.bind({ difficulty }),
        telling: telling.bind(wanted === 'all' ? { difficulty } : {}),
      };
    }),
  );
  const batches: BatchContext = { pool, wanted, ring, programs, jobs };
  const { batch } = plan;
  let slots = 0;
  return {
    device,
    lanes: mixing.lanes,
    occupancy: mixing.occupancy,
    shape: { granularity: 3, min: batch, max: batch, stride: batch },
    slot: (stream) => openBatchSlot(batches, stream, slots++ === 0),
    close: free,
  };
}

/** Kernels by key, the most recently used ones, so that each program is compiled once. */
const kernelCache = new LruCache<Kernel>(64);

/** Little-endian words, the last one zero-padded; at least one, since a kernel's field has at least one. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const padded = new Uint8Array(Math.max(4, Math.ceil(bytes.length / 4) * 4));
  padded.set(bytes);
  const view = new DataView(padded.buffer);
  return Uint32Array.from({ length: padded.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}
