import type { FleetJobs } from '../../../console/fleet/jobs.js';
import type { Device } from '../../../device/device.js';
import { between, type Range, search } from '../../../engine/index.js';
import { settingFor } from '../../../engine/tune/tuning-store.js';
import { checkAll, openVerifier } from '../../../engine/verify/verify.js';
import type { FleetSearch } from '../../../fleet/client/index.js';
import { fromHex, toHex } from '../../../fleet/digest.js';
import { packWorkloadJob } from '../../../fleet/manifest/index.js';
import type { FoundHit } from '../../../fleet/protocol/index.js';
import { checkSpace, type FleetWorkload } from '../../../fleet/workload.js';
import { fieldReader } from '../../../network/fields.js';
import type { PlanOptions } from '../kernel/plan.js';
import { type Challenge, type NonceDigest, proofs } from './flow.js';
import { DEVICE_NONCES, hostProof, proofCheck, proofRing } from './proof-search.js';
import type { Answer, FindOptions, MinedProof, ProofFinder, ProverMineOptions } from './prover.js';
import { MAX_BITS, minedNonces, NONCES } from './prover.js';
import { uhashTunable } from './tune.js';

/** Proofs on a fleet: an index is a nonce. A job for the first proof may leave out others of the same batch. */
export const fleetUhash: FleetWorkload = uhashWorkload((device) => settingFor(device, uhashTunable));

/** The same with other options for each device. */
export function uhashWorkload(tuned: (device: Device) => Promise<PlanOptions>): FleetWorkload {
  return {
    name: 'uhash',
    version: 1,

    search: (params, { engine, space, source, signal }) => {
      const { challenge, wanted } = challengeOf(params);
      checkSpace(space, DEVICE_NONCES);
      const ring = proofRing(challenge.difficulty);
      const flow = proofs(challenge, { wanted, ring, tuned });
      return search(flow, {
        engine,
        space,
        ring,
        mode: 'arrival',
        verify: proofCheck(challenge),
        source: source as NonNullable<Parameters<typeof search<typeof flow>>[1]['source']>,
        signal,
      });
    },

    check: async (params, hits) => {
      // A hash takes 60 ms: a thread computes it.
      const verifier = openVerifier<NonceDigest>(proofCheck(challengeOf(params).challenge));
      try {
        const failed = await checkAll(verifier, hits.map(digestOf));
        return failed && `nonce ${failed.value.index} ${failed.reason ?? 'is not a proof'}`;
      } finally {
        verifier.close();
      }
    },

    // All proofs: a search for the first one may leave others out.
    relax: (params, bits) => {
      const { difficulty } = challengeOf(params).challenge;
      return { ...params, difficulty: Math.min(difficulty, bits), wanted: 'all' };
    },
  };
}

/** Finds proofs on a fleet. */
export class FleetProver implements ProofFinder {
  readonly #jobs: FleetJobs;
  readonly #challenge: Challenge;
  readonly batch: number;
  #hashes = 0n;
  #last: FleetSearch | undefined;

  /** `batch` is the number of nonces that counts as a batch. */
  constructor(jobs: FleetJobs, challenge: Challenge, batch = 1) {
    this.#jobs = jobs;
    this.#challenge = challenge;
    this.batch = batch;
  }

  get hashes(): bigint {
    return this.#hashes;
  }

  /** The job that was submitted last. */
  get job(): string | undefined {
    return this.#last?.job;
  }

  async find({ start, count, signal }: FindOptions): Promise<Answer> {
    const before = this.#hashes;
    const end = start + count < NONCES ? start + count : NONCES;
    const deviceEnd = end < DEVICE_NONCES ? end : DEVICE_NONCES;
    if (start < deviceEnd) {
      for await (const hit of this.#search('first', between(start, deviceEnd), signal))
        return { proof: proofOf(hit), hashes: this.#hashes - before };
      signal?.throwIfAborted();
    }
    const last = hostProof(this.#challenge, start, end, signal);
    return { proof: last.proof, hashes: this.#hashes - before + last.hashes };
  }

  async *mine({ start = 0n, count, signal }: ProverMineOptions = {}): AsyncGenerator<MinedProof, void, undefined> {
    const space = minedNonces(start, count);
    if (space.length === 0n) return;
    for await (const hit of this.#search('all', space, signal)) yield { ...proofOf(hit), challenge: this.#challenge };
  }

  #search(wanted: 'first' | 'all', space: Range, signal: AbortSignal | undefined): FleetSearch {
    const { header, difficulty } = this.#challenge;
    let done = 0n;
    this.#last = this.#jobs.search(
      packWorkloadJob(fleetUhash, { challenge: toHex(header), difficulty, wanted }, space, wanted),
      {
        ...(signal && { signal }),
        onProgress: (progress) => {
          this.#hashes += progress.done - done;
          ({ done } = progress);
        },
      },
    );
    return this.#last;
  }
}

const proofOf = ({ index, hash }: { readonly index: bigint; readonly hash?: unknown }) => ({
  nonce: index,
  hash: hashOf(hash),
});

const digestOf = ({ index, fields }: FoundHit): NonceDigest => ({ index, hash: hashOf(fields.hash) });

/** A digest travels as a list of bytes. */
function hashOf(value: unknown): Uint8Array {
  const read = fieldReader('a proof', ADVICE);
  return Uint8Array.from(read.list(value, 'hash', 32), (byte) => read.integer(byte, 'hash', 0, 255));
}

const ADVICE = 'use the same version of Millrace on every machine of the fleet';
const MAX_CHALLENGE = 65_528;

/** Reads parameters that may come from anywhere. */
function challengeOf(params: Readonly<Record<string, unknown>>): {
  readonly challenge: Challenge;
  readonly wanted: 'first' | 'all';
} {
  const read = fieldReader('a search for proofs', ADVICE);
  const header = fromHex(read.hex(params.challenge, 'challenge', { max: MAX_CHALLENGE }));
  const difficulty = read.integer(params.difficulty, 'difficulty', 0, MAX_BITS);
  return {
    challenge: { header, difficulty },
    wanted: read.text(params.wanted, 'wanted', 5) === 'first' ? 'first' : 'all',
  };
}
