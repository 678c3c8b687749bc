import type { Device, DeviceInfo } from '../../../device/device.js';
import { Engine, search } from '../../../engine/index.js';
import { LruCache } from '../../../engine/telemetry/lru-cache.js';
import { type Axis, type Setting, settingText, type Trial, type Tunable } from '../../../engine/tune/tune.js';
import { sha256Hex, toHex } from '../../../fleet/digest.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Kernel } from '../../../kernel/index.js';
import { fill } from '../kernel/fill.js';
import { mix } from '../kernel/kernel.js';
import { IN_FLIGHT, type Plan, type PlanOptions, planFor, roundUpToThree } from '../kernel/plan.js';
import { hashNonce } from '../kernel/reference.js';
import { type NonceDigest, proofs } from './flow.js';
import { ScratchMemory } from './scratch.js';

export type UhashSetting = Setting & PlanOptions;

/**
 * The tunable parts of a plan, tried on a search with many proofs. All candidates must find the same proofs, and before
 * that compute the reference's digests. A batch takes all available memory, so only one candidate is open at a time.
 * A batch that does not fit is made smaller, and the smaller one is then measured.
 */
export const uhashTunable: Tunable<UhashSetting> = {
  name: 'uhash',
  unit: 'H',
  isExclusive: true,
  kernels,
  // Five kernels and their memory: only a whole job is worth timing.
  axes: (info) => axes(info).map((axis) => ({ ...axis, measured: 'job' })),
  audit,
  open,
};

const kernelCache = new LruCache<readonly Kernel[]>(16);

function kernels(info: DeviceInfo): readonly Kernel[] {
  const { chainsPerItem, copies, tables, rolled = false, early = false, pads, tile = false } = planFor(info);
  const variant = { chainsPerItem, copies, tables, rolled, early, pads, tile };
  return kernelCache.get(JSON.stringify(variant), () => [mix(variant), fill(variant)] as unknown as readonly Kernel[]);
}

function axes(info: DeviceInfo): readonly Axis<UhashSetting>[] {
  if (info.kind === 'interpreter') return [];
  const plan = planFor(info);
  const others = <K extends keyof Plan>(name: K, values: readonly Plan[K][]): UhashSetting[] =>
    values.filter((value) => value !== plan[name]).map((value) => ({ [name]: value }) as UhashSetting);
  const lanes = (values: readonly number[]) =>
    others('lanes', values).filter((one) => (one.lanes ?? 0) <= info.limits.lanes);
  const chains: Axis<UhashSetting> = { name: 'chains per item', changes: others('chainsPerItem', [1, 3]) };
  const batch = (...times: readonly number[]): Axis<UhashSetting> => ({
    name: 'batch',
    changes: times.map((by) => ({ batch: roundUpToThree(plan.batch * by) })),
  });
  const launches = (...values: readonly number[]): Axis<UhashSetting> => ({
    name: 'launches',
    changes: others('launches', values),
  });
  const inFlight: Axis<UhashSetting> = { name: 'batches in flight', changes: others('slots', [1]) };
  if (info.processor === 'gpu') {
    // More of the AES table in workgroup memory needs more threads that share it.
    const narrow = { tables: 1, copies: 8, lanes: Math.min(256, info.limits.lanes) } as const;
    const wide = [{ tables: 2, copies: 32, lanes: 512 } as const, { tables: 4, copies: 32, lanes: 512 } as const];
    const table: Axis<UhashSetting> = {
      name: 'AES table',
      changes: [narrow, ...others('copies', [1, 8, 32]), ...wide],
    };
    const code: Axis<UhashSetting> = { name: 'loops', changes: others('rolled', [plan.rolled !== true]) };
    const filling: Axis<UhashSetting> = { name: 'filling', changes: [{ tile: false }] };
    const workgroup: Axis<UhashSetting> = { name: 'workgroup', changes: lanes([64, 128, 256, 512]) };
    const sizes = info.kind === 'webgpu' ? batch(1 / 2) : batch(1 / 4, 1 / 2, 2);
    return [chains, table, filling, code, workgroup, launches(1, 4, 32), sizes, inFlight];
  }
  if (info.kind === 'opencl') return [chains, batch(2, 4), inFlight];
  if (info.kind === 'webgpu') return [launches(8), batch(2)];
  const gang: Axis<UhashSetting> = { name: 'gang', changes: lanes([1, 4, 8, 16]) };
  return [chains, gang, { name: 'AES table', changes: others('tables', [4]) }, batch(1 / 2, 2, 4), inFlight];
}

const HEADER = new Uint8Array(32);
/** Four groups of three: every phase of every chain. */
const AUDITED = 12;
/** Nonces recomputed by the reference, which takes 60 ms each. */
const RECOMPUTED = [0, 5, 11] as const;

async function audit(device: Device, setting: UhashSetting): Promise<string> {
  const flow = proofs({ header: HEADER, difficulty: 0 }, { ...setting, batch: AUDITED, wanted: 'digests' });
  const engine = new Engine([device], IN_FLIGHT);
  const all: NonceDigest[] = [];
  try {
    for await (const found of search(flow, { engine, space: AUDITED, ring: AUDITED })) all.push(found);
  } finally {
    await engine.close();
  }
  for (const nonce of RECOMPUTED) {
    const actual = toHex(all[nonce]?.hash ?? new Uint8Array());
    const expected = toHex(hashNonce(HEADER, BigInt(nonce)));
    if (actual !== expected) throw wrong(device, setting, `${actual} for nonce ${nonce} instead of ${expected}`);
  }
  return digestOf(all);
}

/** Bits of a proof: one nonce in 64 is one. */
const DIFFICULTY = 6;

async function open(device: Device, setting: UhashSetting): Promise<Trial> {
  const scratch = new ScratchMemory();
  const engine = new Engine([device], IN_FLIGHT);
  let plan = planFor(device.info, setting);
  const onPlan = (_: Device, actual: Plan): void => {
    plan = actual;
  };
  const flowOf = (ring: number) =>
    proofs({ header: HEADER, difficulty: DIFFICULTY }, { ...setting, wanted: 'all', ring, scratch, onPlan });
  const scan = async (nonces: number): Promise<NonceDigest[]> => {
    const ring = Math.max(64, Math.ceil(plan.batch / 8));
    const found: NonceDigest[] = [];
    for await (const one of search(flowOf(ring), { engine, space: nonces, ring })) found.push(one);
    return found;
  };
  const close = async (): Promise<void> => {
    await engine.close();
    await scratch.close();
  };
  try {
    // Compiles and allocates: only then the actual plan is known.
    const opened = await flowOf(64).open(device, { slots: IN_FLIGHT.streams * IN_FLIGHT.slots });
    opened.close();
    const work = await windowOf(device, scan, plan.batch);
    await scan(Math.min(2 * plan.batch, work / 2)); // the first touch of memory is slower
    return {
      identity: JSON.stringify({ ...plan, lanes: opened.lanes }),
      close,
      run: async () => {
        const start = performance.now();
        const found = await scan(work);
        return { work, seconds: (performance.now() - start) / 1000, digest: digestOf(found) };
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const windows = new WeakMap<Device, Promise<number>>();

/** Nonces of a run: four batches of the first candidate, or as many as take half a second. */
function windowOf(device: Device, scan: (nonces: number) => Promise<unknown>, batch: number): Promise<number> {
  const measured = async (): Promise<number> => {
    await scan(batch);
    const start = performance.now();
    await scan(2 * batch);
    const seconds = (performance.now() - start) / 1000;
    return 4 * batch * Math.max(1, Math.round(RUN_SECONDS / seconds / 2));
  };
  const known = windows.get(device) ?? measured();
  windows.set(device, known);
  return known;
}

const RUN_SECONDS = 0.5;

function digestOf(found: readonly NonceDigest[]): string {
  const lines = found.map(({ index, hash }) => `${index} ${toHex(hash)}\n`);
  return sha256Hex(new TextEncoder().encode(lines.join('')));
}

function wrong({ info: { id } }: Device, setting: UhashSetting, what: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `candidate ${settingText(setting)} reported ${what} on ${id}`,
    asked: `uhash on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; no tuning was saved`,
  });
}
