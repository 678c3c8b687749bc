import { createHash } from 'node:crypto';
import type { Candidate } from '../../../bench/measure.js';
import type { Device } from '../../../device/device.js';
import { Engine, type EngineOptions, Overflow } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Kernel } from '../../../kernel/index.js';
import { candidateFlow } from '../job/candidates.js';
import type { PieceWork } from '../job/flow.js';
import { searchGaps } from '../job/search.js';
import { limbs } from '../job/sieve-stage.js';
import { fermat, limbsOf, type NumberShape } from '../kernel/chain-kernel.js';
import { DEFAULT_PRIMES, type PlanOptions, planFor, searchStreams } from '../kernel/plan.js';
import { minGapForTarget } from '../kernel/reference.js';
import { passesFermat } from '../kernel/reference-primes.js';

/** A measurement, with the device resources that it holds until it is closed. */
export interface GapCandidate extends Candidate {
  /** Fermat tests of the last run, if it is a search. */
  readonly tests?: () => number;
  close(): void | Promise<void>;
}

/** The hash of a block of the chain: 256 bits. */
const HASH = 0xd5cada15b5b66983f5c04d8909b8b8f423f14936ecdf02829d6b3e847918d8b8n;
const TARGET = 6244144922783894n;

/** An even number of `bits` bits; the odd numbers after it are tested. */
export const fermatBase = (bits: number): bigint => HASH << BigInt(bits - 256);

export interface FermatOptions {
  readonly bits: number;
  readonly limb?: NumberShape['limb'];
  /** Numbers per run. */
  readonly count?: number;
  readonly runs?: number;
}

/** Fermat's tests alone, of consecutive odd numbers. The first results are compared with bigints. */
export async function fermatRate(device: Device, options: FermatOptions): Promise<GapCandidate> {
  const { bits, limb = planFor(device).limb, count = 2 ** 12, runs = 5 } = options;
  const shape = { limb, bits };
  const base = fermatBase(bits);
  const program = await device.compile(fermat(shape) as unknown as Kernel);
  const stream = device.stream();
  const candidate = await device.alloc(count * 4);
  const prime = await device.alloc(count * 4);
  stream.write(
    candidate,
    Uint32Array.from({ length: count }, (_, i) => i),
  );
  const job = program.bind({});
  let checked = '';
  const chunk = { base: limbs(base, limb === 'u32' ? 32 : 64, limbsOf(shape)) };
  const run = async () => {
    stream.launch({ job, count, chunk, buffers: { candidate, prime } });
    const { startedNs, endedNs } = await stream.mark().done;
    const passed = new Uint32Array(count);
    stream.read(prime, passed);
    await stream.mark().done;
    const sum = digestOf(passed);
    if (sum !== checked) check(device, base, passed);
    checked = sum;
    return { seconds: Number(endedNs - startedNs) / 1e9, work: count, digest: sum };
  };
  const close = (): void => {
    candidate.free();
    prime.free();
    stream.close();
  };
  return { name: `Fermat tests, ${bits} bits, ${device.info.id}`, unit: 'tests', runs, run, close };
}

/** In most cases at least one of these is prime. */
const CHECKED_NUMBERS = 128;

function check(device: Device, base: bigint, passed: Uint32Array): void {
  const bad = passed
    .subarray(0, CHECKED_NUMBERS)
    .findIndex((pass, i) => (pass === 1) !== passesFermat(base + BigInt(2 * i + 1)));
  if (bad < 0) return;
  throw wrong(device, `that ${base} + ${2 * bad + 1} ${passed[bad] === 1 ? 'passes' : 'fails'} Fermat's test`);
}

export interface SieveOptions extends PlanOptions {
  readonly primes?: number;
  readonly runs?: number;
}

/** The sieve alone: the windows of a piece, with candidates listed on the device. Their number is checked. */
export async function sieveRate(device: Device, options: SieveOptions = {}): Promise<GapCandidate> {
  const { primes = DEFAULT_PRIMES, runs = 5, ...asked } = options;
  const { window, depth } = planFor(device, asked);
  const start = HASH << 32n;
  const numbers = { start, length: 1n << 32n, minGap: minGapForTarget(start, TARGET), primes };
  const open = await candidateFlow(numbers, { ...asked, list: false }).open(device);
  const stream = device.stream();
  const slot = await open.slot(stream);
  const piece = { start: 0n, count: window * depth };
  const run = async () => {
    const { startedNs, endedNs } = await slot.submit(piece).done;
    const found = slot.reap(piece);
    if (found instanceof Overflow) throw wrong(device, `${found.found} candidates`);
    return { seconds: Number(endedNs - startedNs) / 1e9, work: piece.count, digest: String(found.count) };
  };
  const close = (): void => {
    slot.close();
    open.close();
    stream.close();
  };
  return { name: `sieve, ${primes} primes, ${device.info.id}`, unit: 'integers', runs, run, close };
}

export interface SearchRateOptions extends SieveOptions {
  /** Integers per run. */
  readonly length?: number;
  readonly engine?: EngineOptions;
  readonly onPiece?: (work: PieceWork) => void;
}

/** A whole job: sieve, chains, and the check of the finds. The gap of the mined block must be among them. */
export async function searchRate(device: Device, options: SearchRateOptions = {}): Promise<GapCandidate> {
  const { primes = DEFAULT_PRIMES, runs = 5, length = 2 ** 25, engine: given, ...asked } = options;
  let tests = 0;
  const onPiece = (work: PieceWork): void => {
    tests += work.tests;
    options.onPiece?.(work);
  };
  const start = HASH << 32n;
  const request = { start, length: BigInt(length), minGap: minGapForTarget(start, TARGET), primes, ...asked };
  const run = async () => {
    const found: bigint[] = [];
    tests = 0;
    const engine = new Engine([device], { ...searchStreams([device]), ...given }); // not shared: between two runs nothing feeds the device
    const gaps = searchGaps({ ...request, onPiece }, { engine });
    for await (const { offset } of gaps) found.push(offset);
    await engine.close();
    if (length > KNOWN_GAP_OFFSET && !found.includes(BigInt(KNOWN_GAP_OFFSET)))
      throw wrong(device, 'no gap where one is known');
    return { work: length, digest: found.join() };
  };
  return { name: `search, ${device.info.id}`, unit: 'integers', runs, run, tests: () => tests, close: () => {} };
}

/** About a second on an H200, with WebGPU too, and on a core. */
export function searchLength(device: Device): number {
  if (device.info.processor === 'cpu') return 2 ** 25;
  return device.info.kind === 'webgpu' ? 2 ** 33 : 2 ** 36;
}

const KNOWN_GAP_OFFSET = 20_540_019;

/** Digests are only compared for equality. */
export const digestOf = (words: Uint32Array): string =>
  createHash('sha256')
    .update(Buffer.from(words.buffer, words.byteOffset, words.byteLength))
    .digest('hex');

function wrong({ info: { id } }: Device, what: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `${id} reported ${what}`,
    asked: `the gaps kernels on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; a figure for wrong results is worth nothing`,
  });
}
