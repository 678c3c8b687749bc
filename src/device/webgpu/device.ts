import { type Kernel, prepareKernel } from '../../kernel/index.js';
import { deviceAbsent } from '../checks/absent.js';
import type { CopyThreads } from '../gpu/host/copy-threads.js';
import { type BuildResult, GpuDevice, type Link, openLink } from '../gpu/host/device.js';
import type { Diagnostic, OpenOptions, ProbeResult } from '../kinds.js';
import { startThread, workerUrl } from '../pool/threads/threads.js';
import { type AdapterFacts, type AdapterProbeResult as ProbedAdapters, probeAdapters } from './info.js';
import { inNode, whyUnavailable } from './library.js';
import { SHUTDOWN_MS } from './shut-down.js';
import type { WebGpuStart } from './work.js';

/** The default number of threads of a workgroup: enough for every GPU's schedulers. */
const WORKGROUP = 256;

/** WebGPU: Dawn in Node, the browser's implementation in a page. */
export class WebGpuDevice extends GpuDevice {
  protected readonly target = 'wgsl';
  protected readonly nearLimit: number;

  constructor(link: Link, { nearBytes }: AdapterFacts) {
    super(link);
    this.nearLimit = nearBytes;
  }

  protected override get pipes(): 0 | 'nvidia' {
    return this.info.details?.vendor === 'nvidia' ? 'nvidia' : 0;
  }

  protected override get subgroups(): boolean {
    return this.info.capabilities.includes('subgroups');
  }

  protected workgroup(_kind: Kernel['kind']): number {
    return Math.min(WORKGROUP, this.info.limits.lanes);
  }

  /** Builds nothing: only the runtime can compile, in the driver. */
  protected async build(): Promise<BuildResult> {
    return { cached: false };
  }
}

export async function probe(): Promise<ProbeResult> {
  const found = await adapters();
  return 'reason' in found ? found : { infos: found.facts.map(({ info }) => info) };
}

/** What Node adds to the device of a page. */
export interface NodeParts {
  readonly worker: URL;
  readonly copyThreads: CopyThreads;
}

export const open = (id: string, options?: OpenOptions): Promise<WebGpuDevice> => openWebGpu(id, options);

export async function openWebGpu(id: string, options: OpenOptions = {}, node?: NodeParts): Promise<WebGpuDevice> {
  const found = await adapters();
  if ('reason' in found) throw deviceAbsent(id, found.reason);
  const number = found.facts.findIndex(({ info }) => id === 'webgpu' || info.id === id);
  const facts = found.facts[number];
  if (!facts)
    throw deviceAbsent(
      id,
      `the WebGPU adapters on this machine are ${found.facts.map(({ info }) => `${info.id} (${info.name})`).join(', ')}`,
    );
  const startData: WebGpuStart = { number, choice: facts.choice };
  const worker = threadFile('worker.js');
  const here = async () => (await import('./work.js')).webGpuWork();
  const link = { device: facts.info.id, worker, here, startData, options, joinMs: SHUTDOWN_MS, ...node };
  return new WebGpuDevice(await openLink(link), facts);
}

export const prepare = prepareKernel;

export async function diagnose(): Promise<readonly Diagnostic[]> {
  const found = await adapters();
  if ('reason' in found) return [{ what: 'adapter', state: 'missing', found: found.reason }];
  return found.facts.map(({ info }) => ({
    what: `adapter ${info.id}`,
    state: info.processor === 'gpu' ? 'ok' : 'warning',
    found: `${info.name}, ${Object.entries(info.versions)
      .map(([what, version]) => `${what} ${version}`)
      .join(', ')}`,
    ...(info.processor === 'gpu' ? {} : { advice: 'it runs on the CPU: good for tests, slower than native or wasm' }),
  }));
}

let cachedProbe: Promise<ProbedAdapters> | undefined;

/** Asks once: starting Dawn and a driver costs about 0.2 s, and adapters do not come and go. */
function adapters(): Promise<ProbedAdapters> {
  cachedProbe ??= probeInThread().then((found) => {
    if ('reason' in found) cachedProbe = undefined;
    return found;
  });
  return cachedProbe;
}

async function probeInThread(): Promise<ProbedAdapters> {
  const reason = whyUnavailable();
  if (reason !== undefined) return { reason };
  if (!inNode()) return probeAdapters();
  let answer: ProbedAdapters = { reason: 'the thread that lists adapters ended without an answer' };
  const thread = startThread({
    file: threadFile('probe.js'),
    name: 'millrace webgpu probe',
    data: undefined,
    onMessage: (message) => {
      answer = message as ProbedAdapters;
    },
    died: () => undefined,
  });
  await thread.ready.catch((cause) => {
    answer = { reason: `the thread that lists adapters cannot start: ${cause?.message ?? cause}` };
  });
  await thread.ended;
  return answer;
}

/** In a page all files are in one folder, so their names must be unique. */
const threadFile = (name: string): URL => workerUrl(import.meta.url, inNode() ? name : `webgpu-${name}`);
