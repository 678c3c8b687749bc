import { unlessAborted } from '../../device/timeout.js';
import type { Engine, KernelPerDevice } from '../../engine/index.js';
import type { Kernel } from '../../kernel/index.js';
import { duration, plural } from './format.js';
import type { Output } from './output.js';

/**
 * Shows the progress of long preparation: a bar on a terminal, elsewhere a line if it takes long. `step` is called with a
 * name whenever a part is done. Rejects with the signal's reason when it aborts; a compiler at work is not stopped.
 */
export async function withPreparationBar<T>(
  output: Output,
  what: string,
  total: number,
  work: (step: (name: string) => void) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  let done = 0;
  let isAnnounced = false;
  const draw = (): void => {
    if (output.live.isEnabled) output.live.show([bar(what, done, total, seconds())]);
    else if (!isAnnounced && seconds() >= MESSAGE_DELAY_S) {
      isAnnounced = true;
      output.say(`${what} …`);
    }
  };
  const timer = setInterval(draw, DRAW_MS);
  try {
    const step = (name: string): void => {
      if (signal?.aborted) return;
      done++;
      output.event('prepared', { what, name, done, total, seconds: seconds() });
      output.explain(`${what}: ${name}, ${duration(seconds())}`);
      draw();
    };
    return await unlessAborted(work(step), signal);
  } finally {
    clearInterval(timer);
    output.live.clear();
  }
}

const DRAW_MS = 250;
const MESSAGE_DELAY_S = 3;
const BAR_WIDTH = 20;

/** `compiling  [##########..........] 1 of 2  3.21 s` */
function bar(what: string, done: number, total: number, seconds: number): string {
  const full = Math.round((BAR_WIDTH * done) / Math.max(1, total));
  return `${what}  [${'#'.repeat(full)}${'.'.repeat(BAR_WIDTH - full)}] ${done} of ${total}  ${duration(seconds)}`;
}

/** Compiles kernels on all devices of an engine, so that compiling is not part of a job's rate. */
export async function prepareKernels(
  output: Output,
  engine: Engine,
  kernels: readonly (Kernel | KernelPerDevice)[],
  signal: AbortSignal,
): Promise<void> {
  const devices = engine.devices.filter(({ fault }) => fault === undefined).length;
  const what = `compiling for ${plural(devices, 'device')}`;
  const prepare = (step: (name: string) => void) =>
    Promise.all(kernels.map((kernel) => engine.prepare(kernel, ({ id }) => step(`${kernel.name} for ${id}`))));
  await withPreparationBar(output, what, devices * kernels.length, prepare, signal);
}
