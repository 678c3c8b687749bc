import { CopyThreads } from '../../gpu/host/copy-threads.js';
import { type Link, openLink } from '../../gpu/host/link.js';
import type { OpenOptions } from '../../kinds.js';
import { workerUrl } from '../../pool/threads/threads.js';
import type { CudaStart } from '../driver.js';
import { ask } from './helper-pool.js';
import type { Survey } from './helper-worker.js';

/** A GPU that is being opened: its worker opens the context while the survey starts NVML and NVRTC. */
export interface StartingGpu {
  readonly survey: Promise<Survey | { readonly reason: string }>;
  readonly link: Promise<Link>;
}

export function startGpu(ordinal: number, options: OpenOptions): StartingGpu {
  const survey = askSurvey();
  const link = startWorker(ordinal, options);
  for (const one of [survey, link]) one.catch(() => undefined); // reported where they are awaited
  return { survey, link };
}

export const askSurvey = (): StartingGpu['survey'] => ask({ kind: 'survey' });

async function startWorker(ordinal: number, options: OpenOptions): Promise<Link> {
  const signal = options.completion === 'callback' ? await (await import('./signal.js')).signalLibrary() : undefined;
  const startData: CudaStart = { ordinal, ...(signal ? { signal } : {}) };
  return openLink({
    device: `cuda:${ordinal}`,
    worker: workerUrl(new URL('../device.js', import.meta.url).href),
    startData,
    options,
    copyThreads: new CopyThreads(),
    isKept: true,
  });
}

let early: (StartingGpu & { readonly ordinal: number }) | undefined;

/**
 * Starts a GPU that the process is about to open, before the code that opens it is loaded. The context takes 0.3 s, in which
 * a command loads its modules and lowers its kernels.
 */
export function startEarly(ordinal: number): void {
  early ??= { ordinal, ...startGpu(ordinal, {}) };
}

/** Returns the GPU that was started early, once, if it was started as `options` ask. */
export function takeEarly(ordinal: number, options: OpenOptions): StartingGpu | undefined {
  const { completion = 'poll', telemetry = false } = options;
  if (early?.ordinal !== ordinal || completion !== 'poll' || telemetry) return undefined;
  const { survey, link } = early;
  early = undefined;
  const adopted = link.then((opened) => opened.withOptions(options));
  adopted.catch(() => undefined);
  return { survey, link: adopted };
}

/** Closes the GPU that was started early and not used. */
export async function closeEarly(): Promise<void> {
  const unused = early;
  early = undefined;
  await unused?.link.then(
    (link) => link.stop(),
    () => undefined, // it did not open
  );
}
