import type { Engine, Preparation } from '../../engine/index.js';
import type { Kernel } from '../../kernel/index.js';
import { duration, plural } from './format.js';
import type { Output } from './output.js';

/**
 * Shows the progress of long preparation: a bar on a terminal, elsewhere a line if it takes long. `step` is called with a
 * name whenever a part is done.
 */
export async function preparing<T>(
  output: Output,
  what: string,
  total: number,
  work: (step: (name: string) => void) => Promise<T>,
): Promise<T> {
  const start = performance.now();
  const seconds = (): number => (performance.now() - start) / 1000;
  let done = 0;
  let isTold = false;
  const draw = (): void => {
    if (output.live.isThere) output.live.show([bar(what, done, total, seconds())]);
    else if (!isTold && seconds() >= PATIENCE_S) {
      isTold = true;
      output.say(`${what} …`);
    }
  };
  const timer = setInterval(draw, DRAW_MS);
  try {
    return await work((name) => {
      done++;
      output.event('prepared', { what, name, done, total, seconds: seconds() });
      output.explain(`${what}: ${name}, ${duration(seconds())}`);
      draw();
    });
  } finally {
    clearInterval(timer);
    output.live.clear();
  }
}

const DRAW_MS = 250;
const PATIENCE_S = 3;
const WIDTH = 20;

/** `compiling  [##########..........] 1 of 2  3.21 s` */
function bar(what: string, done: number, total: number, seconds: number): string {
  const full = Math.round((WIDTH * done) / Math.max(1, total));
  return `${what}  [${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${done} of ${total}  ${duration(seconds)}`;
}

/**
 * Compiles kernels on all devices of an engine, so that compiling is not part of a job's rate. Rejects with the signal's
 * reason as soon as it is aborted; a compiler that is running then is not stopped.
 */
export async function prepareKernels(
  output: Output,
  engine: Engine,
  kernels: readonly (Kernel | Preparation)[],
  signal?: AbortSignal,
): Promise<void> {
  signal?.throwIfAborted();
  const devices = engine.devices.filter(({ fault }) => fault === undefined).length;
  const what = `compiling for ${plural(devices, 'device')}`;
  await preparing(output, what, devices * kernels.length, async (step) => {
    const all = kernels.map((kernel) => engine.prepare(kernel, ({ id }) => step(`${kernel.name} for ${id}`)));
    await Promise.race([Promise.all(all), ...(signal ? [aborted(signal)] : [])]);
  });
}

/** Rejects when the signal is aborted; never resolves. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
