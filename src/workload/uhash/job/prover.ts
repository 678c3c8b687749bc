import type { Device } from '../../../device/device.js';
import {
  between,
  type ChunkSource,
  type DeviceStatus,
  Engine,
  type EngineOptions,
  type Range,
  type SearchMode,
  search,
} from '../../../engine/index.js';
import { settingFor } from '../../../engine/tune/tuning-store.js';
import { MillraceError } from '../../../kernel/error.js';
import { IN_FLIGHT, type Plan, type PlanOptions } from '../kernel/plan.js';
import { checkFound, type Proof } from '../kernel/reference.js';
import { type Challenge, type NonceDigest, type ProofOptions, proofs } from './flow.js';
import { DEVICE_NONCES, hostProof, NONCES, proofCheck, proofRing } from './proof-search.js';
import { ScratchMemory } from './scratch.js';
import { uhashTunable } from './tune.js';

/** Creates a prover on opened devices. It keeps their programs, streams and scratchpads until it is closed. */
export function createProver(devices: Device | readonly Device[], options: ProverOptions = {}): Prover {
  return new Prover(Array.isArray(devices) ? devices : [devices as Device], options);
}

export interface ProverOptions {
  /** Nonces in a batch on each device; default: the best for the device (`kernel/plan.ts`). */
  readonly batch?: number;
  /** Other plan options for all devices. */
  readonly plan?: PlanOptions;
  /** Options of the prover's engine; or an engine, which is closed with the prover. */
  readonly engine?: EngineOptions | Engine;
  readonly challenge?: Challenge;
  /** Called once for each device, with the plan that its memory allows. */
  readonly onPlan?: (device: Device, plan: Plan) => void;
}

export { NONCES } from './proof-search.js';

/** Finds proofs: on devices of this machine, or on a fleet. */
export interface ProofFinder {
  /** Hashes that were computed. */
  readonly hashes: bigint;
  /** Nonces in a batch, of the largest plan. */
  readonly batch: number;
  find(options: FindOptions): Promise<Answer>;
  mine(options?: ProverMineOptions): AsyncGenerator<MinedProof, void, undefined>;
}

export class Prover implements ProofFinder {
  readonly engine: Engine;
  readonly #devices: readonly Device[];
  readonly #scratch = new ScratchMemory();
  readonly #options: ProverOptions;
  readonly #plans = new Map<string, Plan>();
  #challenge: Challenge | undefined;
  /** Counts challenges: proofs of an earlier one are dropped. */
  #generation = 0;
  #challengeChange: AbortController | undefined;
  /** Running calls of `mine`. They may never end, so `find` does not wait for their scratchpads. */
  #mining = 0;

  constructor(devices: readonly Device[], options: ProverOptions) {
    this.#devices = devices;
    const { engine } = options;
    this.engine = engine instanceof Engine ? engine : new Engine(devices, { ...IN_FLIGHT, ...engine });
    this.#options = options;
    this.#challenge = options.challenge && checkChallenge(options.challenge);
  }

  get challenge(): Challenge | undefined {
    return this.#challenge;
  }

  /** Hashes that devices have computed, including those whose results were not used. */
  get hashes(): bigint {
    return this.engine.devices.reduce((sum: bigint, { items }: DeviceStatus) => sum + items, 0n);
  }

  /** The plan that each device's memory allows. */
  get plans(): ReadonlyMap<string, Plan> {
    return this.#plans;
  }

  /** Nonces in a batch, of the largest plan so far. */
  get batch(): number {
    return Math.max(...[...this.#plans.values()].map((plan) => plan.batch));
  }

  /** Makes `mine` continue with this challenge. Batches in flight for the previous one are cancelled, its proofs dropped. */
  setChallenge(challenge: Challenge): void {
    this.#challenge = checkChallenge(challenge);
    this.#generation++;
    this.#challengeChange?.abort();
  }

  /** Compiles and allocates for `find` or `mine` on all devices, and has one nonce hashed and checked. */
  async prepare(wanted: 'first' | 'all', challenge: Challenge | undefined = this.#challenge): Promise<void> {
    const easy = { ...requireChallenge(challenge), difficulty: 0 };
    const flow = proofs(easy, this.#flowOptions(wanted));
    const slots = this.engine.streams * this.engine.slots;
    // The search reports why a device cannot be used, and continues without it.
    await Promise.allSettled(this.#devices.map(async (device) => (await flow.open(device, { slots })).close()));
    await search(flow, { ...this.#searchOptions(easy, 'first', undefined), space: 1 }).first();
  }

  /**
   * Finds the proof with the smallest nonce among `count` from `start` on. Also returns the number of hashes computed.
   * Nonces end at 2^64. During a `mine` it allocates separate scratchpads, in the memory that is left.
   */
  async find({ start, count, challenge = this.#challenge, signal }: FindOptions): Promise<Answer> {
    const target = requireChallenge(challenge);
    const end = minOf(start + count, NONCES);
    const before = this.hashes;
    const deviceEnd = minOf(end, DEVICE_NONCES);
    if (start < deviceEnd) {
      const separate = this.#mining > 0 ? new ScratchMemory() : undefined;
      try {
        const own = separate && { scratch: separate, slots: 1, onPlan: () => {} };
        const flow = proofs(target, { ...this.#flowOptions('first'), ...own });
        const space = between(start, deviceEnd);
        const found = await search(flow, { ...this.#searchOptions(target, 'first', signal), space }).first();
        if (found) return { proof: proofOf(found), hashes: this.hashes - before };
      } finally {
        await separate?.close();
      }
    }
    const last = hostProof(target, start, end, signal);
    return { proof: last.proof, hashes: this.hashes - before + last.hashes };
  }

  /**
   * Yields every proof from `start` on, in the order of their nonces, for the current challenge: after `setChallenge` it
   * starts again at `start`. Ends after `count` nonces of one challenge, or when the caller stops iterating.
   */
  async *mine(options: ProverMineOptions = {}): AsyncGenerator<MinedProof, void, undefined> {
    this.#mining++;
    try {
      yield* this.#mine(options);
    } finally {
      this.#mining--;
    }
  }

  async *#mine({
    start = 0n,
    count = DEVICE_NONCES,
    signal,
    source,
  }: ProverMineOptions): AsyncGenerator<MinedProof, void, undefined> {
    for (;;) {
      const challenge = requireChallenge(this.#challenge);
      const generation = this.#generation;
      const isCurrent = () => generation === this.#generation;
      const swap = new AbortController();
      this.#challengeChange = swap;
      const either = signal ? AbortSignal.any([signal, swap.signal]) : swap.signal;
      try {
        const ring = this.#ringFor(challenge.difficulty);
        const flow = proofs(challenge, { ...this.#flowOptions('all'), ring });
        const space = minedNonces(start, count);
        if (space.length === 0n) return;
        const options = {
          ...this.#searchOptions(challenge, 'all', either),
          ...(source && { source: source(challenge, space) }),
        };
        for await (const found of search(flow, { ...options, space, ring })) {
          if (isCurrent()) yield { ...proofOf(found), challenge };
          if (!isCurrent()) break;
        }
        if (isCurrent()) return;
      } catch (error) {
        if (isCurrent() || !swap.signal.aborted) throw error;
      }
    }
  }

  pause(): void {
    this.engine.pause();
  }

  resume(): void {
    this.engine.resume();
  }

  /** Cancels running searches and frees all memory. The devices stay open. */
  async close(): Promise<void> {
    await this.engine.close();
    await this.#scratch.close();
  }

  #flowOptions(wanted: 'first' | 'all'): ProofOptions {
    const { batch, plan } = this.#options;
    return {
      ...plan,
      ...(batch !== undefined && { batch }),
      wanted,
      tuned: (device) => settingFor(device, uhashTunable),
      scratch: this.#scratch,
      onPlan: (device, actual) => {
        if (this.#plans.get(device.info.id) === actual) return;
        this.#plans.set(device.info.id, actual);
        this.#options.onPlan?.(device, actual);
      },
    };
  }

  /**
   * Every proof is recomputed by the reference, which takes 60 ms. Mode `first` finds at most one, which is checked in this
   * thread; otherwise a worker thread checks them.
   */
  #searchOptions({ header, difficulty }: Challenge, mode: SearchMode, signal: AbortSignal | undefined) {
    const data = { header, difficulty };
    const verify = mode === 'first' ? (found: NonceDigest) => checkFound(found, data) : proofCheck(data);
    return { engine: this.engine, mode, verify, ...(signal && { signal }) };
  }

  #ringFor(difficulty: number): number {
    return proofRing(
      difficulty,
      Math.max(...[...this.#plans.values()].map((plan) => plan.batch), this.#options.batch ?? 0),
    );
  }
}

export interface FindOptions {
  readonly start: bigint;
  readonly count: bigint;
  /** Default: the prover's. */
  readonly challenge?: Challenge | undefined;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly proof: Proof | undefined;
  /** Hashes actually computed: fewer than asked for if a proof was found early, more if other batches were in flight. */
  readonly hashes: bigint;
}

export interface ProverMineOptions {
  readonly start?: bigint;
  readonly count?: bigint;
  readonly signal?: AbortSignal;
  /** The chunk source for a challenge, which also records finished work. Default: in memory. */
  readonly source?: (challenge: Challenge, space: Range) => ChunkSource<readonly NonceDigest[]>;
}

/** The nonces that `mine` tries: only those that devices can. */
export const minedNonces = (start: bigint, count: bigint = DEVICE_NONCES): Range =>
  between(start, maxOf(start, minOf(start + count, DEVICE_NONCES)));

export interface MinedProof extends Proof {
  readonly challenge: Challenge;
}

/** The bits of a digest: the highest difficulty. */
export const MAX_BITS = 256;

/** With the nonce's 8 bytes, as many as `blake3.hash` takes. */
const MAX_HEADER_BYTES = 2 ** 16 - 8;

function checkChallenge(challenge: Challenge): Challenge {
  const { difficulty, header } = challenge;
  if (header.length > MAX_HEADER_BYTES)
    throw new MillraceError({
      code: 'usage',
      message: `challenge too long: expected at most ${MAX_HEADER_BYTES} bytes, got ${header.length}`,
      asked: `a proof for a challenge of ${header.length} bytes`,
      advice: 'give a shorter challenge',
    });
  if (Number.isInteger(difficulty) && difficulty >= 0 && difficulty <= MAX_BITS) return challenge;
  throw new MillraceError({
    code: 'usage',
    message: `difficulty out of range: expected 0 to ${MAX_BITS} leading zero bits, got ${difficulty}`,
    asked: `a proof of ${difficulty} leading zero bits`,
    advice: `give a whole number from 0 to ${MAX_BITS}`,
  });
}

function requireChallenge(challenge: Challenge | undefined): Challenge {
  if (challenge !== undefined) return checkChallenge(challenge);
  throw new MillraceError({
    code: 'usage',
    message: 'the prover has no challenge',
    asked: 'a proof',
    advice: 'call setChallenge first, or give one',
  });
}

const proofOf = ({ index, hash }: NonceDigest): Proof => ({ nonce: index, hash });
const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const maxOf = (a: bigint, b: bigint): bigint => (a > b ? a : b);
