import { type Kernel, type LoweredGpuKernel, prepareKernel } from '../../kernel/index.js';
import { DiskCache } from '../cache/cache.js';
import { deviceAbsent, deviceNumber } from '../checks/absent.js';
import { formatCount } from '../checks/launch.js';
import type { CompileOptions, Device } from '../device.js';
import { CopyThreads } from '../gpu/host/copy-threads.js';
import { type BuildResult, GpuDevice, type Link, openLink } from '../gpu/host/device.js';
import type { GpuProgram } from '../gpu/host/program.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import type { Diagnostic, OpenOptions, ProbeResult } from '../kinds.js';
import { addressOf, bytesAt } from '../native/libc.js';
import { workerUrl } from '../pool/threads/threads.js';
import { build } from './build.js';
import type { OpenClStart } from './driver.js';
import { deviceListText } from './runtime/context.js';
import { ask } from './runtime/helper-pool.js';
import { acceptsPtx } from './runtime/info.js';
import { icdFiles, vendorsFolder } from './runtime/library.js';
import { checkNeeds } from './runtime/needs.js';

/** Threads of a workgroup on a GPU. */
const WORKGROUP = 256;
/**
 * Threads of a workgroup on a CPU. PoCL turns the threads of a workgroup into a loop around the whole kernel, which is
 * not vectorised: the SHA-256d kernel gives 1.9 MH/s a core with 1 thread, 1.2 to 2.3 with 8 to 1,024. Tiles are
 * fastest with 1 by far.
 */
const CPU_WORKGROUP = 1;

/** A device of an OpenCL platform. A worker thread owns its context; another process compiles for it. */
export class OpenClDevice extends GpuDevice {
  protected readonly target = 'opencl';
  protected readonly nearLimit: number;
  readonly #cache: Promise<DiskCache>;

  constructor(link: Link, nearLimit: number) {
    // SAFETY: memory that the worker's driver lends stays mapped until its view is gone (`PinnedMemory`).
    super(link, addressOf, bytesAt);
    this.nearLimit = nearLimit;
    this.#cache = DiskCache.open();
    this.#cache.catch(() => undefined); // reported where it is used
  }

  /**
   * A CPU always runs tiles in workgroups of one thread: PoCL 3.1 runs several incorrectly if a barrier is inside a
   * loop (values of one thread are seen by another).
   */
  override compile(kernel: Kernel, options: CompileOptions = {}): Promise<GpuProgram> {
    const alone = kernel.kind === 'tiles' && this.info.processor === 'cpu' && typeof options.lanes === 'number';
    return super.compile(kernel, alone ? { ...options, lanes: CPU_WORKGROUP } : options);
  }

  protected override get pipes(): 0 | 'nvidia' {
    return this.info.details?.vendor?.startsWith('NVIDIA') ? 'nvidia' : 0;
  }

  protected override get inlinePtx(): boolean {
    return acceptsPtx(this.info);
  }

  protected workgroup(_kind: Kernel['kind']): number {
    return this.info.processor === 'cpu' ? CPU_WORKGROUP : Math.min(WORKGROUP, this.info.limits.lanes);
  }

  protected override checkSupported({ program }: LoweredGpuKernel): void {
    checkNeeds(program, this.info);
  }

  protected async build(source: GpuSource): Promise<BuildResult> {
    return build(source, this.info, await this.#cache);
  }
}

/** Lists the devices. Platforms start threads and are slow, so another process asks them. */
export async function probe(): Promise<ProbeResult> {
  const found = await ask({ kind: 'survey' });
  return 'reason' in found ? found : { infos: found.devices.map(({ info }) => info) };
}

export async function open(id: string, options: OpenOptions = {}): Promise<Device> {
  const number = deviceNumber('opencl', id);
  const found = await ask({ kind: 'survey' });
  if ('reason' in found) throw deviceAbsent(id, found.reason);
  const device = found.devices[number];
  if (!device) throw deviceAbsent(id, deviceListText(found.devices.map(({ info }) => info.name)));
  return start({ number }, device.nearBytes, options, device.info.processor === 'gpu');
}

/** Starts the device's worker. `usesStaging`: pageable memory goes through staging, with the help of copy threads. */
export async function start(
  startData: OpenClStart,
  nearBytes: number,
  options: OpenOptions,
  usesStaging = startData.forceCopies === true,
): Promise<OpenClDevice> {
  const worker = workerUrl(import.meta.url);
  const copyThreads = usesStaging ? new CopyThreads() : undefined;
  const device = `opencl:${startData.number}`;
  const link = await openLink({
    device,
    worker,
    startData,
    options,
    isKept: true,
    ...(copyThreads && { copyThreads }),
  });
  return new OpenClDevice(link, nearBytes);
}

export const prepare = prepareKernel;

/** For `millrace doctor`. */
export async function diagnose(): Promise<readonly Diagnostic[]> {
  const found = await ask({ kind: 'survey' });
  const folder = vendorsFolder();
  const platforms = icdFiles(folder).map(({ file, library }) => `${file} (${library})`);
  const platformFinding: Diagnostic =
    platforms.length === 0
      ? { what: 'platforms', state: 'warning', found: `none listed in ${folder}` }
      : { what: 'platforms', state: 'ok', found: `${folder}: ${platforms.join(', ')}` };
  return [
    'reason' in found
      ? { what: 'loader', state: 'missing', found: found.reason }
      : { what: 'loader', state: 'ok', found: `${found.path}, ${formatCount(found.devices.length, 'device')}` },
    platformFinding,
  ];
}
