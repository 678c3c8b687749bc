import type { Type } from '../../kernel/index.js';
import type { Device } from '../device.js';
import { withTimeout } from '../timeout.js';

/** One requirement for every device. `run` throws if the device does not meet it, and throws `Skip` if it need not. */
export interface Case {
  readonly name: string;
  /** Abilities of the device without which the case is skipped. */
  readonly needs?: readonly Ability[];
  /** `only` is the number of the one variant of its kernels to run, modulo their count. Default: all of them. */
  run(device: Device, only?: number): Promise<void>;
}

/**
 * `exact-floats`: correctly rounded floats with NaN, infinities, -0 and denormals. WGSL guarantees neither this nor f64.
 * An OpenCL device may refuse kernels that use f32, only f32 division and square roots (`f32-divide`), or atomics of u64,
 * which WGSL lacks.
 */
export type Ability = 'f64' | 'f32' | 'f32-divide' | 'exact-floats' | 'u64-atomics';

/** Devices other than OpenCL have f32, and but for WebGPU atomics of u64, without listing them as capabilities. */
export const hasAbility = ({ info }: Pick<Device, 'info'>, ability: Ability): boolean =>
  info.capabilities.includes(ability) ||
  (info.kind !== 'opencl' && (ability === 'f32' || ability === 'f32-divide')) ||
  (info.kind !== 'opencl' && info.kind !== 'webgpu' && ability === 'u64-atomics');

/** For a case about one type. */
export const needsOfType = (type: Type): readonly Ability[] =>
  type === 'f64' ? ['f64'] : type === 'f32' || type === 'f16' ? ['f32'] : [];

const missingReasons: Readonly<Record<Ability, string>> = {
  f64: 'the device has no f64',
  f32: 'the device has no f32',
  'f32-divide': 'the device has no f32 division',
  'exact-floats': 'the device does not round floats exactly',
  'u64-atomics': 'the device has no atomics of u64',
};

/** Thrown by a case that does not apply to a device; the message says why. */
export class Skip extends Error {
  override readonly name = 'Skip';
}

export interface CaseResult {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  readonly reason?: string;
  readonly ms: number;
}

export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A case fails after this time, so that a hung device does not block the suite. The slowest case takes half a minute. */
const TIMEOUT_MS = 300_000;

/** Runs one case and returns its result; never throws. */
export async function runCase({ name, needs = [], run }: Case, device: Device, only?: number): Promise<CaseResult> {
  const started = performance.now();
  const result = (status: CaseResult['status'], reason?: string): CaseResult => ({
    name,
    status,
    ms: performance.now() - started,
    ...(reason === undefined ? {} : { reason }),
  });
  const missing = needs.find((ability) => !hasAbility(device, ability));
  if (missing) return result('skipped', missingReasons[missing]);
  try {
    const late = (): never => {
      throw new Error(`no result within ${TIMEOUT_MS / 1000} s`);
    };
    await withTimeout(run(device, only), TIMEOUT_MS, late);
    return result('passed');
  } catch (error) {
    if (error instanceof Skip) return result('skipped', error.message);
    return result('failed', error instanceof Error ? error.message : String(error));
  }
}

/** Fails the case with `message` unless `holds`. */
export function check(holds: boolean, message: string | (() => string)): asserts holds {
  if (!holds) throw new Error(typeof message === 'string' ? message : message());
}

/** Returns the error that `action` throws; fails if it throws none, or one with another code. */
export async function expectError(code: string, what: string, action: () => unknown): Promise<Error> {
  let returned: unknown;
  try {
    returned = await action();
  } catch (error) {
    check(
      error instanceof Error && (error as { code?: unknown }).code === code,
      () => `${what}: expected ${code}, got ${String(error)}`,
    );
    return error as Error;
  }
  throw new Error(`${what}: expected ${code}, but the call succeeded and returned ${String(returned)}`);
}

/**
 * Runs the tasks that `next` starts, `atOnce` at a time, until it starts no more. After an error no task is started; the
 * error is thrown when the others have ended, so that none still uses a device that is closed next.
 */
export async function inParallel(atOnce: number, next: () => Promise<void> | undefined): Promise<void> {
  let stopped = false;
  const work = async (): Promise<void> => {
    try {
      for (let task = next(); task; task = stopped ? undefined : next()) await task;
    } catch (error) {
      stopped = true;
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, work));
  const failed = ended.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}
