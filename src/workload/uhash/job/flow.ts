import type { BoundJob, Device, DeviceProgram } from '../../../device/device.js';
import { programOf } from '../../../engine/flow/programs.js';
import type { Flow, OpenFlow } from '../../../engine/index.js';
import { Recent } from '../../../engine/telemetry/recent.js';
import type { Kernel } from '../../../kernel/index.js';
import { fill } from '../kernel/fill.js';
import { digests, judge, mix, seeds, tell, tellAll, type Variant } from '../kernel/kernel.js';
import type { Plan, PlanOptions } from '../kernel/plan.js';
import { type Room, Scratch } from './scratch.js';
import { openBatchSlot } from './slot.js';

/** The challenge of a search for proofs. */
export interface Challenge {
  /** The bytes before the nonce. */
  readonly header: Uint8Array;
  /** Leading zero bits. */
  readonly difficulty: number;
}

/** A nonce and its digest. */
export interface Found {
  readonly index: bigint;
  readonly hash: Uint8Array;
}

/** The result of a batch: the proof with the smallest nonce, all proofs, or all digests. */
export type Wanted = 'first' | 'all' | 'digests';

export interface ProofOptions extends PlanOptions {
  /** Default `first`: then the number of bytes read back does not depend on the batch. */
  readonly wanted?: Wanted;
  /** Capacity for proofs of one batch, with `all`; a batch with more is run again in smaller pieces. Default 256. */
  readonly ring?: number;
  /** Memory that outlives the search. Default: allocated for the search. */
  readonly scratch?: Scratch;
  /** Challenges of canaries, numbered from 1. */
  readonly others?: readonly Challenge[];
  /** The tuned options of a device, used where none are given (tune.ts). */
  readonly tuned?: (device: Device) => Promise<PlanOptions>;
  /** Called with each device's plan, after its memory is allocated. */
  readonly onPlan?: (device: Device, plan: Plan) => void;
}

/** Proofs as a flow for `search`: one chunk is a batch of nonces through five kernels, which stays on the device. */
export function proofs(challenge: Challenge, options: ProofOptions = {}): Flow<readonly Found[]> {
  const { wanted = 'first', ring = 256, scratch, others = [], tuned, onPlan, ...asked } = options;
  return {
    name: 'uhash',
    async open(device, { slots = 1 } = {}) {
      const own = scratch ?? new Scratch();
      const free = (): void => {
        if (own !== scratch) void own.close();
      };
      try {
        const room = await own.room(device, { ...(await tuned?.(device)), ...asked }, slots);
        onPlan?.(device, room.plan);
        return await open(room, [challenge, ...others], { wanted, ring }, free);
      } catch (error) {
        free();
        throw error;
      }
    },
  };
}

/** The state that all batches of an open flow share. */
export interface Batches {
  readonly room: Room;
  readonly wanted: Wanted;
  /** Capacity of the ring, in proofs. */
  readonly ring: number;
  readonly programs: Programs;
  /** Number 0 is the challenge itself, the others are the canaries'. */
  readonly jobs: readonly Jobs[];
}

export interface Jobs {
  readonly seeding: BoundJob;
  readonly filling: BoundJob;
  readonly mixing: BoundJob;
  /** Set if only the first proof is wanted. */
  readonly judging: BoundJob | undefined;
  readonly telling: BoundJob;
}

interface Programs {
  readonly filling: DeviceProgram;
  readonly mixing: DeviceProgram;
  readonly judging: DeviceProgram | undefined;
  readonly telling: DeviceProgram;
}

async function open(
  room: Room,
  challenges: readonly Challenge[],
  { wanted, ring }: Required<Pick<ProofOptions, 'wanted' | 'ring'>>,
  free: () => void,
): Promise<OpenFlow<readonly Found[]>> {
  const { device, plan } = room;
  const { chainsPerItem, copies, tables, rolled = false, early = false, pads, tile = false } = plan;
  const variant: Variant = { chainsPerItem, copies, tables, rolled, early, pads, tile };
  const lanes = plan.lanes === undefined ? {} : { lanes: plan.lanes };
  const shape = JSON.stringify([variant, plan.lanes]);
  const last = { first: tell, all: tellAll, digests }[wanted] as unknown as Kernel;
  const compile = (key: string, make: () => unknown, asked = {}) => {
    const kernel = kernels.get(key, () => make() as Kernel);
    return programOf(device, kernel, asked);
  };
  const [filling, mixing, judging, telling] = await Promise.all([
    compile(`fill ${shape}`, () => fill(variant), tile ? { lanes: tile.chains } : lanes),
    compile(`mix ${shape}`, () => mix(variant), lanes),
    wanted === 'first' ? compile('judge', () => judge) : undefined,
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
  const batches: Batches = { room, wanted, ring, programs, jobs };
  const { batch } = plan;
  let slots = 0;
  return {
    device,
    lanes: mixing.lanes,
    occupancy: mixing.occupancy,
    shape: { granularity: 3, least: batch, most: batch, stride: batch },
    slot: (stream) => openBatchSlot(batches, stream, slots++ === 0),
    close: free,
  };
}

/** Kernels by key, the most recently used ones, so that each program is compiled once. */
const kernels = new Recent<Kernel>(64);

/** Little-endian words, the last one zero-padded; at least one, since a kernel's field has at least one. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const padded = new Uint8Array(Math.max(4, Math.ceil(bytes.length / 4) * 4));
  padded.set(bytes);
  const view = new DataView(padded.buffer);
  return Uint32Array.from({ length: padded.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}
