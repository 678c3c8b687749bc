import { access, constants, readdir } from 'node:fs/promises';
import { cudaLowering } from '../../kernel/abi/lower-gpu.js';
import { type Kernel, lowerAhead } from '../../kernel/index.js';
import { DiskCache } from '../cache/cache.js';
import { deviceAbsent, deviceNumber } from '../checks/absent.js';
import type {
  BoundJob,
  CompileOptions,
  Device,
  DeviceBuffer,
  DeviceInfo,
  Resident,
  ResidentOptions,
  Sensors,
} from '../device.js';
import { type BuildResult, GpuDevice, gpuOptionsOf, type Link } from '../gpu/host/device.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import type { Diagnostic, OpenOptions, ProbeResult } from '../kinds.js';
import { addressOf } from '../native/libc.js';
import { build, type Toolchain } from './build.js';
import { ask } from './runtime/helper-pool.js';
import type { Survey } from './runtime/helper-worker.js';
import { cudaVersion, type Gpu, whyUnusable } from './runtime/info.js';
import { findLibrary } from './runtime/library.js';
import { targetFor } from './runtime/nvrtc.js';
import { askSurvey, startGpu, takeEarly } from './runtime/start.js';

/** An NVIDIA GPU through the driver API. A worker thread owns its context; NVRTC compiles in other threads. */
export class CudaDevice extends GpuDevice {
  protected readonly target = 'cuda';
  protected readonly nearLimit: number;
  readonly #tools: Toolchain;
  readonly #cache: Promise<DiskCache>;

  constructor(link: Link, info: DeviceInfo, gpu: Gpu, tools: Toolchain) {
    super(link, addressOf, undefined, info);
    this.nearLimit = gpu.nearBytes;
    this.#tools = tools;
    this.#cache = DiskCache.open();
    this.#cache.catch(() => undefined); // reported where it is used
  }

  protected override get pipes(): 'nvidia' {
    return cudaLowering.pipes;
  }

  protected workgroup(_kind: Kernel['kind']): number {
    return cudaLowering.workgroup;
  }

  adopt(pointer: number, bytes: number): Promise<DeviceBuffer> {
    return this.adoptMemory(pointer, bytes);
  }

  resident(job: BoundJob, options: ResidentOptions): Promise<Resident | undefined> {
    return this.residents.open(job, options);
  }

  /** Resident grids that have not been closed, or have not ended. */
  get residentGrids(): number {
    return this.residents.count;
  }

  protected async build(source: GpuSource): Promise<BuildResult> {
    return build(source, this.#tools, await this.#cache);
  }
}

/** Lists the GPUs. Starting the driver can take 0.3 s: it happens on another thread, and opens no context. */
export async function probe(): Promise<ProbeResult> {
  const found = await askSurvey();
  if ('reason' in found) return found;
  if ('reason' in found.nvrtc) return found.nvrtc;
  const usable = found.gpus.filter(({ gpu }) => whyUnusable(gpu) === undefined);
  const [first] = found.gpus;
  if (usable.length === 0 && first) return { reason: `${first.gpu.name}: ${whyUnusable(first.gpu)}` };
  return { infos: usable.map(({ info }) => info) };
}

/** Opens a GPU, or takes the one that was started early. */
export async function open(id: string, options: OpenOptions = {}): Promise<Device> {
  const ordinal = deviceNumber('cuda', id);
  const { survey, link: linking } = takeEarly(ordinal, options) ?? startGpu(ordinal, options);
  try {
    const { gpu, info, tools } = requireGpu(id, ordinal, await survey); // it may know a better reason than the worker
    return new CudaDevice(await linking, info, gpu, tools);
  } catch (error) {
    await linking.then(
      (link) => link.stop(),
      () => undefined,
    );
    throw error;
  }
}

export function prepare(kernel: Kernel, options: CompileOptions = {}): void {
  const { lanes = 'auto' } = options;
  const workgroup = lanes === 'auto' ? cudaLowering.workgroup : lanes;
  lowerAhead(kernel, gpuOptionsOf({ ...cudaLowering, workgroup }, options));
}

/** Returns the GPU of that number and its toolchain. Throws if either is missing. */
function requireGpu(
  id: string,
  ordinal: number,
  found: Survey | { readonly reason: string },
): { readonly gpu: Gpu; readonly info: DeviceInfo; readonly tools: Toolchain } {
  if ('reason' in found) throw deviceAbsent(id, found.reason);
  const { gpus, nvrtc, cuda, driver } = found;
  const own = gpus[ordinal];
  if (!own)
    throw deviceAbsent(
      id,
      `the GPUs on this machine are ${gpus.map(({ info }) => `${info.id} (${info.name})`).join(', ')}`,
    );
  if ('reason' in nvrtc) throw deviceAbsent(id, nvrtc.reason);
  const { gpu, info } = own;
  const target = targetFor(gpu.architecture, nvrtc.architectures);
  if (target) return { gpu, info, tools: { target, nvrtc: nvrtc.version, cuda, driver } };
  throw deviceAbsent(
    id,
    `NVRTC ${nvrtc.version} no longer supports ${gpu.name}: name an older version in MILLRACE_LIBNVRTC`,
  );
}

/** Reads the sensors by NVML: needs no context, and works while other processes use the GPU. */
export async function sensors(id: string): Promise<Sensors | undefined> {
  return ask({ kind: 'sensors', ordinal: deviceNumber('cuda', id) });
}

/** For `millrace doctor`. */
export async function diagnose(): Promise<readonly Diagnostic[]> {
  const found = await askSurvey();
  if ('reason' in found)
    return [{ what: 'driver', state: 'missing', found: found.reason }, ...(await inaccessibleNodes())];
  const { libcuda, cuda, driver, nvml, nvrtc, gpus } = found;
  return [
    { what: 'driver', state: 'ok', found: `${driver ?? 'version unknown'}, CUDA ${cudaVersion(cuda)}, ${libcuda}` },
    'reason' in nvrtc
      ? { what: 'NVRTC', state: 'missing', found: nvrtc.reason }
      : { what: 'NVRTC', state: 'ok', found: `${nvrtc.version}, ${nvrtc.path}` },
    nvml
      ? { what: 'NVML', state: 'ok', found: 'sensors can be read' }
      : { what: 'NVML', state: 'warning', found: whyNoSensors(), advice: 'temperature and power are not shown' },
    ...gpus.flatMap(({ gpu, info }): Diagnostic[] => {
      const refusal = whyUnusable(gpu);
      return refusal === undefined ? [] : [{ what: info.id, state: 'missing', found: refusal }];
    }),
    ...(await inaccessibleNodes()),
  ];
}

function whyNoSensors(): string {
  const found = findLibrary('nvml');
  return 'reason' in found ? found.reason : `${found.path} cannot be initialized`;
}

/** Reports device files that this user may not open: the most common reason why a driver finds no GPU. */
async function inaccessibleNodes(): Promise<readonly Diagnostic[]> {
  const names = await readdir('/dev').catch((): string[] => []);
  const files = names.filter((name) => /^nvidia(\d+|ctl|-uvm)$/.test(name)).map((name) => `/dev/${name}`);
  const closed: string[] = [];
  for (const file of files) {
    await access(file, constants.R_OK | constants.W_OK).catch(() => closed.push(file));
  }
  if (closed.length === 0) return [];
  const advice = 'add your user to the group that owns them (often video or render)';
  return [{ what: 'permissions', state: 'warning', found: `no access to ${closed.join(', ')}`, advice }];
}
