import { createHash } from 'node:crypto';
import type { Candidate } from '../../../bench/measure.js';
import { findMaxWork, type ScalableWork } from '../../../bench/scaling.js';
import { plural } from '../../../console/output/format.js';
import type { Device } from '../../../device/device.js';
import { between, Engine, type EngineOptions, search } from '../../../engine/index.js';
import { settingText as settingName } from '../../../engine/tune/tune.js';
import { settingFor, tunedStreams } from '../../../engine/tune/tuning-store.js';
import { MillraceError } from '../../../kernel/error.js';
import { blockTunable, openScan } from '../job/tune.js';
import { EASY_SCAN, GENESIS_NONCES, genesis, genesisWindow } from '../kernel/genesis.js';
import { type BlockSetting, nonceFlow, perThreadOn } from '../kernel/nonce-flow.js';
import { checkNonce, headerPrefix, targetFromBits } from '../kernel/reference.js';
import { NONCES, type NonceRange } from '../kernel/scan.js';

/**
 * The kernel's rate at difficulty 1, over a window around the genesis block's nonce that takes about half a second. The
 * hits of each run are compared with the known ones. Before the first run, an easy target's hits are checked.
 */
export async function rateOf(device: Device, runs: number): Promise<Candidate> {
  const setting = await settingFor(device, blockTunable);
  await audit(device, setting);
  const { scan } = await openScan(device, setting, target);
  const piece = genesisWindow(await countFor(RUN_SECONDS, scan));
  const run = async () => checkedRun(device, piece, (await scan(piece)).hits);
  return { name: candidateName(device, setting), unit: 'H', runs, run };
}

const prefix = headerPrefix(genesis);
const target = targetFromBits(genesis.bits);

/** The rate of a whole job: the same window, in chunks that the engine keeps in flight. */
export async function fedRateOf(
  device: Device,
  runs: number,
  options: EngineOptions,
  seconds = RUN_SECONDS,
): Promise<FedCandidate> {
  const setting = await settingFor(device, blockTunable);
  const { scan } = await openScan(device, setting, target);
  const piece = genesisWindow(await countFor(seconds, scan));
  const perDevice = await tunedStreams([device], blockTunable);
  const engine = { perDevice, ...options, pipeline: options.pipeline ?? 'poll' };
  const flow = nonceFlow({ prefix, target, max: NONCES }, setting);
  const space = between(BigInt(piece.base), BigInt(piece.base + piece.count));
  let fedShare: number | undefined;
  const run = async () => {
    const fed = new Engine([device], engine);
    const hits: number[] = [];
    try {
      const found = search(flow, { engine: fed, space });
      for await (const { nonce } of found) hits.push(nonce);
      fedShare = fed.devices[0]?.fed;
    } finally {
      await fed.close();
    }
    return checkedRun(device, piece, hits);
  };
  return {
    name: `${candidateName(device, setting)}, fed (${engine.pipeline})`,
    unit: 'H',
    runs,
    run,
    fed: () => fedShare,
  };
}

/** Also reports the share of the last run's time that the device had work. */
export interface FedCandidate extends Candidate {
  fed(): number | undefined;
}

function checkedRun(
  device: Device,
  { base, count }: NonceRange,
  hits: readonly number[],
): { work: number; digest: string } {
  const known = GENESIS_NONCES.filter((nonce) => nonce >= base && nonce < base + count);
  if (hits.join() !== known.join()) throw wrong(device, `nonces ${hits.join(', ')} instead of ${known.join(', ')}`);
  return { work: count, digest: createHash('sha256').update(hits.join()).digest('hex') };
}

function candidateName({ info }: Device, setting: BlockSetting): string {
  const name = info.kind === 'native' ? `native, ${plural(info.units, 'thread')}` : info.id;
  return Object.keys(setting).length === 0 ? name : `${name}, tuned (${settingName(setting)})`;
}

const RUN_SECONDS = 0.5;

/** Nonces that take about `runSeconds`: quadruples until a tenth of it is reached, then extrapolates. */
async function countFor(
  runSeconds: number,
  scanning: (piece: NonceRange) => Promise<{ seconds: number }>,
): Promise<number> {
  for (let count = 2 ** 6; ; count = Math.min(count * 4, NONCES)) {
    const { seconds } = await scanning(genesisWindow(count));
    if (seconds >= runSeconds / 10 || count === NONCES)
      return Math.min(Math.ceil((count * runSeconds) / seconds), NONCES);
  }
}

/** Scans an easy target's window, checks the number of hits and recomputes each of them. */
async function audit(device: Device, setting: BlockSetting): Promise<void> {
  const { scan } = await openScan(device, setting, EASY_SCAN.target);
  // The interpreter would take minutes.
  if (device.info.kind === 'interpreter') return;
  const { hits } = await scan({ base: 0, count: EASY_SCAN.count });
  if (new Set(hits).size !== EASY_SCAN.hits) throw wrong(device, `${hits.length} hits instead of ${EASY_SCAN.hits}`);
  const bad = hits.find((nonce) => !checkNonce(prefix, EASY_SCAN.target, nonce).valid);
  if (bad !== undefined) throw wrong(device, `nonce ${bad}, whose hash is not below the target`);
}

function wrong({ info: { id } }: Device, what: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `${id} reported ${what}`,
    asked: `the block kernel on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; a figure for wrong results is worth nothing`,
  });
}

/** Nonces from 0 on, as one job over all devices; measures scaling. */
export async function sizedOn(devices: readonly Device[], maxWork?: number): Promise<ScalableWork> {
  const flow = nonceFlow({ prefix, target, max: NONCES }, {});
  const run = async (work: number): Promise<number> => {
    const begun = performance.now();
    const engine = new Engine([...devices], { pipeline: 'poll' });
    const hits: number[] = [];
    try {
      for await (const { nonce } of search(flow, { engine, space: BigInt(work) })) hits.push(nonce);
    } finally {
      await engine.close();
    }
    const known = GENESIS_NONCES.filter((nonce) => nonce < work);
    if (hits.join() !== known.join()) throw wrong(devices[0] as Device, `nonces ${hits.join(', ')}`);
    return (performance.now() - begun) / 1000;
  };
  await run(1); // compiles
  const perItem = perThreadOn(devices[0] as Device, {});
  return { unit: 'H', perItem, maxWork: maxWork ?? (await findMaxWork(run, NONCES)), run, close: () => {} };
}
