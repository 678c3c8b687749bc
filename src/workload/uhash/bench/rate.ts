import { createHash } from 'node:crypto';
import type { Candidate } from '../../../bench/measure.js';
import type { Device } from '../../../device/device.js';
import { between, Engine, type EngineOptions, search } from '../../../engine/index.js';
import { settingFor } from '../../../engine/tune/tuning-store.js';
import { MillraceError } from '../../../kernel/error.js';
import { type NonceDigest, type ProofOptions, proofs } from '../job/flow.js';
import { ScratchMemory } from '../job/scratch.js';
import { uhashTunable } from '../job/tune.js';
import { IN_FLIGHT, type Plan, type PlanOptions } from '../kernel/plan.js';
import { hashNonce } from '../kernel/reference.js';

export interface RateOptions extends PlanOptions {
  readonly engine?: EngineOptions;
  /** Seconds that a run should take. */
  readonly seconds?: number;
  /** Hashes of a run, instead of a time. */
  readonly count?: number;
  readonly runs?: number;
}

export interface UhashCandidate extends Candidate {
  /** The plan that the device's memory allows. */
  readonly plan: Plan;
  /** Nonces that were recomputed by the reference. */
  readonly checked: number;
  close(): Promise<void>;
}

/**
 * The rate of a search that finds nothing, fed by the engine. Before the measurement, some digests of a whole batch are
 * recomputed by the reference.
 */
export async function rateOf(device: Device, options: RateOptions = {}): Promise<UhashCandidate> {
  const { engine: engineOptions = {}, seconds = RUN_SECONDS, count, runs, ...plan } = options;
  const scratch = new ScratchMemory();
  const engine = new Engine([device], { ...IN_FLIGHT, ...engineOptions });
  const tuned = () => settingFor(device, uhashTunable);
  let used: Plan | undefined;
  const onPlan = (_: Device, actual: Plan): void => {
    used = actual;
  };
  const scan = async (space: bigint): Promise<number> => {
    const begun = performance.now();
    const challenge = { header: HEADER, difficulty: IMPOSSIBLE };
    const found = search(proofs(challenge, { ...plan, tuned, scratch, onPlan }), { engine, space });
    for await (const { index } of found) throw wrong(device, `nonce ${index} as a proof of ${IMPOSSIBLE} bits`);
    return (performance.now() - begun) / 1000;
  };
  const close = async (): Promise<void> => {
    await engine.close();
    await scratch.close();
  };
  try {
    await scan(1n); // compiles and allocates
    if (used === undefined) throw new TypeError('the search opened no flow');
    const { batch } = used;
    const checked = await audit(device, engine, batch, { ...plan, tuned, scratch });
    await scan(BigInt(batch)); // the first touch of memory is slower
    // Two batches are in flight: the time of one alone says little.
    const pair = await scan(2n * BigInt(batch));
    const work = count ?? 2 * batch * Math.max(1, Math.round(seconds / pair));
    const run = async () => {
      await scan(BigInt(work));
      return { work, digest: 'no proof' };
    };
    const name = `${device.info.id}, batch ${batch}`;
    return { name, unit: 'H', ...(runs !== undefined && { runs }), run, plan: used, checked, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const RUN_SECONDS = 1;
const HEADER = new Uint8Array(32);
/** More leading zero bits than any digest of these nonces has. */
const IMPOSSIBLE = 256;

/** Digests to recompute, spread over the batch: first, last, and all phases. */
const SAMPLES = 7;

async function audit(device: Device, engine: Engine, batch: number, options: ProofOptions) {
  const flow = proofs({ header: HEADER, difficulty: 0 }, { ...options, wanted: 'digests' });
  const all: NonceDigest[] = [];
  const space = between(0n, BigInt(batch));
  for await (const found of search(flow, { engine, space, ring: batch })) all.push(found);
  if (all.length !== batch) throw wrong(device, `${all.length} digests of ${batch}`);
  const samples = Math.min(SAMPLES, batch);
  for (let at = 0; at < samples; at++) {
    const found = all[Math.floor((at * (batch - 1)) / Math.max(1, samples - 1))];
    if (!found) throw wrong(device, 'fewer digests than nonces');
    const expected = Buffer.from(hashNonce(HEADER, found.index)).toString('hex');
    const actual = Buffer.from(found.hash).toString('hex');
    if (actual !== expected) throw wrong(device, `${actual} for nonce ${found.index} instead of ${expected}`);
  }
  return samples;
}

/** SHA-256 over the digests of the first nonces, to compare devices. */
export async function checksum(device: Device, nonces: number, options: PlanOptions = {}): Promise<string> {
  const sum = createHash('sha256');
  const flow = proofs({ header: HEADER, difficulty: 0 }, { ...options, wanted: 'digests' });
  const engine = new Engine([device], IN_FLIGHT);
  try {
    for await (const { hash } of search(flow, { engine, space: nonces, ring: nonces })) sum.update(hash);
  } finally {
    await engine.close();
  }
  return sum.digest('hex');
}

function wrong({ info: { id } }: Device, what: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `${id} reported ${what}`,
    asked: `uhash on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; a figure for wrong results is worth nothing`,
  });
}
