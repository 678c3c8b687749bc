import { CudaDriver } from '../../src/device/cuda/driver.js';
import { type CompileTarget, Nvrtc } from '../../src/device/cuda/runtime/nvrtc.js';
import { CallTimer } from '../../src/device/gpu/native/calls.js';
import type { DriverHost, GpuSource, HostBytes, MarkResult } from '../../src/device/gpu/worker/driver.js';
import { addressOf } from '../../src/device/native/libc.js';
import { lowerGpu } from '../../src/kernel/abi/lower-gpu.js';
import { JobParameters, type Kernel } from '../../src/kernel/index.js';
import type { Fake } from './fake.js';

/** For tests of the driver alone, on the test's own thread, without the loop that drives it in a worker. */

/** Index of the board's word with the epoch of a test's stream. */
export const EPOCH = 16;

export interface TestHost extends DriverHost {
  /** Lines that the driver logged. */
  readonly lines: string[];
}

export function hostOf(completion: DriverHost['completion'] = 'poll'): TestHost {
  const lines: string[] = [];
  return {
    words: new Int32Array(new SharedArrayBuffer(1024)),
    completion,
    calls: new CallTimer(false),
    log: (line) => void lines.push(line),
    wake: () => undefined,
    lines,
  };
}

const opened: CudaDriver[] = [];

export function openDriver(host: DriverHost = hostOf(), own: object = {}): CudaDriver {
  const driver = new CudaDriver({ ordinal: 0, ...own }, host);
  opened.push(driver);
  return driver;
}

export function closeDrivers(): void {
  for (const driver of opened.splice(0)) driver.close();
}

const SETTINGS: Readonly<Record<string, number>> = {
  total: 2 ** 30,
  pools: 1,
  processors: 2,
  timeout: 0,
  waits: 0,
  register: 1,
  register_at: 0,
  launch_us: 0,
  endless: 0,
  oom_at: 0,
  launch_at: 0,
  launch_code: 701,
  die_at: 0,
  die_code: 700,
  lost_at: 0,
  lost_code: 999,
  event_us: 0,
  lose_callbacks: 0,
  callback_us: 0,
  host_func: 0,
  devices: 1,
  init: 0,
  misuse: 0,
};

/** Restores the settings of the fake. */
export function reset(fake: Fake): void {
  for (const [name, value] of Object.entries(SETTINGS)) fake.set(name, value);
  fake.setNvrtc('fail_line', 0);
  fake.setNvrtc('newest', 90);
  fake.setNvrtc('delay_ms', 0);
  fake.clearCalls();
}

const binaries = new Map<string, Uint8Array>();

/** A kernel as the driver gets it, for a job whose only value is `by`. */
export interface TestSource extends GpuSource {
  words(by: number): Uint32Array;
}

export function sourceOf(kernel: Kernel, { number = 1, checked = false, ptx = false } = {}): TestSource {
  const lowered = lowerGpu(kernel, { target: 'cuda', nearLimit: 227 * 1024, checked });
  const nvrtc = Nvrtc.open(13);
  if ('reason' in nvrtc) throw new Error(nvrtc.reason);
  const key = `${process.env.FAKE_NVRTC_CC} ${ptx} ${lowered.text}`;
  const target: CompileTarget = ptx ? { option: 'compute_80', form: 'ptx' } : { option: 'sm_90', form: 'cubin' };
  const binary = binaries.get(key) ?? nvrtc.compile(lowered.text, lowered.shape.compilerOptions, target);
  binaries.set(key, binary);
  return {
    number,
    name: kernel.name,
    text: lowered.text,
    binary,
    shape: lowered.shape,
    words: (by) => new JobParameters(lowered.program, { by }).words(0n, 0, {}),
  };
}

export const plain = (view: ArrayBufferView): HostBytes => ({
  bytes: view.byteLength,
  locked: false,
  address: addressOf(view),
});
export const locked = (view: ArrayBufferView): HostBytes => ({ ...plain(view), locked: true });

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

/** Repeats a command until it is sent, as the loop does. */
export async function sent(command: () => boolean): Promise<void> {
  while (!command()) await pause();
}

export async function settled(driver: CudaDriver, mark: ReturnType<CudaDriver['mark']>): Promise<MarkResult> {
  for (;;) {
    const result = driver.poll(mark);
    if (result) return result;
    await pause();
  }
}
