import { createHash } from 'node:crypto';
import type { Candidate } from '../../bench/measure.js';
import { plural } from '../../console/format.js';
import type { Device } from '../../device/device.js';
import { between, Engine, type EngineOptions, search } from '../../engine/index.js';
import { MillraceError } from '../../kernel/error.js';
import { EASY, GENESIS_NONCES, genesis, genesisWindow } from './genesis.js';
import { headerScan } from './kernel.js';
import { checkNonce, headerPrefix, targetOf } from './reference.js';
import { jobValues, NONCES, openSlot, type Piece, scan } from './scan.js';

/**
 * The kernel's rate at difficulty 1, over a window around the genesis block's nonce that takes about half a second. Its
 * hits are known, so each run is checked; and before the first, an easy target's known number of hits is.
 */
export async function rateOf(device: Device, runs: number): Promise<Candidate> {
  const prefix = headerPrefix(genesis);
  await audit(device, prefix);
  const target = targetOf(genesis.bits);
  const scanning = await openScanning(device, prefix, target, true);
  const piece = genesisWindow(await countFor(RUN_SECONDS, scanning));
  const run = async () => outcome(device, piece, (await scanning(piece)).hits);
  return { name: nameOf(device), unit: 'H', runs, run };
}

/** The rate that a job has: the same window in chunks that the engine keeps in flight, from its beginning to its end. */
export async function fedRateOf(device: Device, runs: number, options: EngineOptions): Promise<Candidate> {
  const prefix = headerPrefix(genesis);
  const target = targetOf(genesis.bits);
  const scanning = await openScanning(device, prefix, target, true);
  const piece = genesisWindow(await countFor(RUN_SECONDS, scanning));
  const engine = { ...options, pipeline: options.pipeline ?? 'poll' };
  const space = between(BigInt(piece.base), BigInt(piece.base + piece.count));
  const run = async () => {
    const feeding = new Engine([device], engine);
    const hits: number[] = [];
    try {
      const found = search(fedKernel, { engine: feeding, space, job: jobValues(prefix, target) });
      for await (const { nonce } of found) hits.push(nonce);
    } finally {
      await feeding.close();
    }
    return outcome(device, piece, hits);
  };
  return { name: `${nameOf(device)}, fed (${engine.pipeline})`, unit: 'H', runs, run };
}

/** One, so that its program is compiled once. */
const fedKernel = headerScan({ topWordZero: true });

function outcome(device: Device, { base, count }: Piece, hits: readonly number[]): { work: number; digest: string } {
  const known = GENESIS_NONCES.filter((nonce) => nonce >= base && nonce < base + count);
  if (hits.join() !== known.join()) throw wrong(device, `nonces ${hits.join(', ')} instead of ${known.join(', ')}`);
  return { work: count, digest: createHash('sha256').update(hits.join()).digest('hex') };
}

const nameOf = ({ info }: Device): string =>
  info.kind === 'native' ? `native, ${plural(info.units, 'thread')}` : info.id;

const RUN_SECONDS = 0.5;

/** How many nonces take about so long: four times as many until a tenth of it is reached, then in proportion. */
async function countFor(wanted: number, scanning: (piece: Piece) => Promise<{ seconds: number }>): Promise<number> {
  for (let count = 2 ** 6; ; count = Math.min(count * 4, NONCES)) {
    const { seconds } = await scanning(genesisWindow(count));
    if (seconds >= wanted / 10 || count === NONCES) return Math.min(Math.ceil((count * wanted) / seconds), NONCES);
  }
}

/** Scans an easy target's window, where hits are many and their number is known, and recomputes each of them. */
async function audit(device: Device, prefix: Uint8Array): Promise<void> {
  const scanning = await openScanning(device, prefix, EASY.target, false);
  // The interpreter takes minutes for all of it.
  if (device.info.kind === 'interpreter') return;
  const { hits } = await scanning({ base: 0, count: EASY.count });
  if (new Set(hits).size !== EASY.hits) throw wrong(device, `${hits.length} hits instead of ${EASY.hits}`);
  const bad = hits.find((nonce) => !checkNonce(prefix, EASY.target, nonce).valid);
  if (bad !== undefined) throw wrong(device, `nonce ${bad}, whose hash is not below the target`);
}

async function openScanning(device: Device, prefix: Uint8Array, target: bigint, topWordZero: boolean) {
  const program = await device.compile(headerScan({ topWordZero }));
  const slot = await openSlot(device, program, device.stream());
  const job = program.bind(jobValues(prefix, target));
  return async (piece: Piece) => {
    const { hits, seconds } = await scan(slot, job, piece);
    if (hits === undefined) throw wrong(device, 'more hits than its ring holds');
    return { hits, seconds };
  };
}

function wrong({ info: { id } }: Device, what: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `${id} reported ${what}`,
    asked: `the block kernel on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; a figure for wrong results is worth nothing`,
  });
}
