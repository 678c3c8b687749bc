import type { Device, DeviceInfo } from '../../../device/device.js';
import { programOf } from '../../../engine/flow/programs.js';
import { between, Engine, search } from '../../../engine/index.js';
import { type Axis, settingText, type Trial, type Tunable } from '../../../engine/tune/tune.js';
import { MillraceError } from '../../../kernel/error.js';
import { EASY_SCAN, GENESIS_NONCES, genesis, genesisWindow } from '../kernel/genesis.js';
import {
  type BlockSetting,
  compileOptions,
  isTopWordZero,
  kernelFor,
  nonceFlow,
  perThreadOn,
} from '../kernel/nonce-flow.js';
import { checkNonce, headerPrefix, targetFromBits } from '../kernel/reference.js';
import { jobValues, NONCES, type NonceRange, openSlot, scan } from '../kernel/scan.js';

/**
 * The tunable parameters of the nonce search, tried on the first block of the chain. Its nonce is in every window.
 * Before that, each candidate has to find the 231 nonces of an easy target, which the reference recomputes.
 */
export const blockTunable: Tunable<BlockSetting> = {
  name: 'block',
  unit: 'H',
  kernels: () => [kernelFor(true)],
  axes,
  audit,
  open: (device, setting, measured) => (measured === 'job' ? openJob(device, setting) : openLaunches(device, setting)),
};

/** Workgroup size or lanes of a gang, work for the multiply pipe, nonces per item, and pipeline options. */
function axes({ kind, processor, capabilities, limits }: DeviceInfo): readonly Axis<BlockSetting>[] {
  if (kind === 'interpreter') return [];
  const fits = (lanes: readonly number[]) => lanes.filter((one) => one <= limits.lanes).map((one) => ({ lanes: one }));
  const pipeline: Axis<BlockSetting>[] = [
    { name: 'streams', changes: [{ streams: 1 }, { streams: 4 }], measured: 'job' },
    { name: 'slots', changes: [{ slots: 2 }, { slots: 5 }], measured: 'job' },
  ];
  if (processor === 'gpu') {
    return [
      { name: 'workgroup', changes: fits([64, 128, 256, 512, 1024]) },
      // No operations moved; rotations taken out of sums; and half or all of the additions as multiply-adds.
      { name: 'pipes', changes: [0, { additions: 0, turns: true }, 0.5, 1].map((pipes) => ({ pipes })) },
      { name: 'nonces per item', changes: [{ perThread: 2 }] },
      ...pipeline,
    ];
  }
  // Their compilers take up to a minute for each source text; another workgroup size is the same text.
  if (kind === 'opencl' || kind === 'webgpu') return [{ name: 'workgroup', changes: fits([16, 64, 256]) }, ...pipeline];
  const bodies = capabilities.includes('sha') ? [{ nativeBodies: false }] : [];
  return [
    {
      name: 'gang',
      changes: [...[1, 4, 8, 16].filter((one) => one <= limits.lanes).map((lanes) => ({ lanes })), ...bodies],
    },
    { name: 'nonces per item', changes: [...(bodies.length > 0 ? [{ perThread: 1 }] : []), { perThread: 2 }] },
    ...pipeline,
  ];
}

const prefix = headerPrefix(genesis);
const target = targetFromBits(genesis.bits);

async function audit(device: Device, setting: BlockSetting): Promise<string> {
  const easy = await openScan(device, setting, EASY_SCAN.target);
  const single = await openScan(device, setting, target);
  try {
    const { hits } = await easy.scan({ base: 0, count: EASY_SCAN.count });
    const bad = hits.find((nonce) => !checkNonce(prefix, EASY_SCAN.target, nonce).valid);
    if (bad !== undefined) throw wrong(device, setting, `nonce ${bad}, whose hash is not below the target`);
    // The start and end of this range are not multiples of the nonces per item.
    const { hits: found } = await single.scan({ base: GENESIS_NONCES[0] ?? 0, count: 1 });
    return [...hits, ...found].join();
  } finally {
    easy.close();
    single.close();
  }
}

/** Times launches over a window that takes about 0.25 s with default settings; the same window for all candidates. */
async function openLaunches(device: Device, setting: BlockSetting): Promise<Trial> {
  const { scan: run, program, close } = await openScan(device, setting, target);
  const count = await windowOf(device);
  const window = genesisWindow(count);
  await run(genesisWindow(Math.ceil(count / 4)));
  return {
    identity: JSON.stringify([program.text, program.lanes, program.params]),
    close,
    run: async () => {
      const { hits, seconds } = await run(window);
      return { work: count, seconds, digest: hits.join() };
    },
  };
}

/** Times a search fed by the engine, over a window that takes about a second. */
async function openJob(device: Device, setting: BlockSetting): Promise<Trial> {
  const count = Math.min(NONCES, 4 * (await windowOf(device)));
  const { base } = genesisWindow(count);
  const flow = nonceFlow({ prefix, target, max: NONCES }, setting);
  const { streams, slots } = setting;
  const pipeline = { ...(streams !== undefined && { streams }), ...(slots !== undefined && { slots }) };
  return {
    close: () => undefined,
    run: async () => {
      const engine = new Engine([device], pipeline);
      const nonces: number[] = [];
      const start = performance.now();
      try {
        const space = between(BigInt(base), BigInt(base + count));
        for await (const { nonce } of search(flow, { engine, space })) nonces.push(nonce);
        return { work: count, seconds: (performance.now() - start) / 1000, digest: nonces.join() };
      } finally {
        await engine.close();
      }
    },
  };
}

const windows = new WeakMap<Device, Promise<number>>();

function windowOf(device: Device): Promise<number> {
  const known = windows.get(device) ?? measureWindow(device);
  windows.set(device, known);
  return known;
}

/** Quadruples the count until it takes a tenth of the time, then extrapolates. */
async function measureWindow(device: Device): Promise<number> {
  const { scan: run, close } = await openScan(device, {}, target);
  try {
    for (let count = 2 ** 10; ; count = Math.min(count * 4, NONCES)) {
      const { seconds } = await run(genesisWindow(count));
      if (seconds >= RUN_SECONDS / 10 || count === NONCES) {
        return Math.min(Math.ceil((count * RUN_SECONDS) / seconds), NONCES);
      }
    }
  } finally {
    close();
  }
}

const RUN_SECONDS = 0.25;

/** Scans ranges of the first block's nonces for hashes below a target, independent of the nonces per item. */
export async function openScan(device: Device, setting: BlockSetting, below: bigint) {
  const perThread = perThreadOn(device, setting);
  const program = await programOf(device, kernelFor(isTopWordZero(below), perThread), compileOptions(setting));
  const stream = device.stream();
  try {
    const slot = await openSlot(device, program, stream);
    const job = program.bind(jobValues(prefix, below));
    return {
      program,
      scan: async ({ base, count }: NonceRange) => {
        const first = Math.floor(base / perThread);
        const items = { base: first, count: Math.ceil((base + count) / perThread) - first };
        const { hits, seconds } = await scan(slot, job, items);
        if (hits === undefined) throw wrong(device, setting, 'more hits than its ring holds');
        return { hits: hits.filter((nonce) => nonce >= base && nonce < base + count), seconds };
      },
      close: () => {
        slot.ring.free();
        stream.close();
      },
    };
  } catch (error) {
    stream.close();
    throw error;
  }
}

function wrong({ info: { id } }: Device, setting: BlockSetting, what: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `candidate ${settingText(setting)} reported ${what} on ${id}`,
    asked: `the block kernel on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; no tuning was saved`,
  });
}
