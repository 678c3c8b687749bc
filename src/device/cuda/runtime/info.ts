import type { DeviceInfo } from '../../device.js';
import { OutParameters } from '../../gpu/native/api.js';
import { addressOf, preservingSignals } from '../../native/libc.js';
import { Attribute, Cuda, type CudaApi, textIn } from './api.js';
import { CudaErrors } from './errors.js';

/** Properties of a GPU that the driver reports without a context. */
export interface Gpu {
  readonly ordinal: number;
  readonly handle: number;
  readonly name: string;
  readonly memoryBytes: number;
  readonly multiprocessors: number;
  /** Compute capability: 9.0 is 90. */
  readonly architecture: number;
  /** The most workgroup memory that one workgroup may request. */
  readonly nearBytes: number;
  readonly clockMHz: number;
  readonly memoryClockMHz: number;
  readonly busBits: number;
  readonly l2Bytes: number;
  readonly threadsPerMultiprocessor: number;
  readonly copyEngines: number;
  readonly ecc: boolean;
  readonly registersHostMemory: boolean;
  readonly memoryPools: boolean;
  /** True if the system ends long launches: a display is connected to this GPU. */
  readonly limitsRunTime: boolean;
  /** 0: any process may use it; 2: none; 3: one process. */
  readonly computeMode: number;
  /** "0000:1b:00.0", by which NVML finds the same GPU. */
  readonly busId: string;
}

const COMPUTE_PROHIBITED = 2;

/** Starts the driver by `cuInit`. Returns its CUDA version, 13000 for 13.0, or the reason why it cannot start. */
export function startDriver(api: CudaApi): { readonly version: number } | { readonly reason: string } {
  const errors = new CudaErrors(api, 'CUDA');
  const code = preservingSignals(() => api.cuInit(0));
  if (code === Cuda.noDevice) return { reason: 'the NVIDIA driver is installed but finds no usable GPU' };
  if (code !== Cuda.success) return { reason: errors.describe('cuInit', code).message.split(/\n\s*/).join('; ') };
  const out = new OutParameters();
  errors.check('cuDriverGetVersion', api.cuDriverGetVersion(out.address));
  return { version: out.int() };
}

/** Lists the GPUs that CUDA_VISIBLE_DEVICES allows, in the driver's order. */
export function listGpus(api: CudaApi): readonly Gpu[] {
  const errors = new CudaErrors(api, 'CUDA');
  const out = new OutParameters();
  errors.check('cuDeviceGetCount', api.cuDeviceGetCount(out.address));
  return Array.from({ length: out.int() }, (_, ordinal) => readGpu(api, ordinal));
}

export function readGpu(api: CudaApi, ordinal: number): Gpu {
  const errors = new CudaErrors(api, `cuda:${ordinal}`);
  const out = new OutParameters();
  errors.check('cuDeviceGet', api.cuDeviceGet(out.address, ordinal));
  const handle = out.int();
  const attribute = (which: number): number => {
    errors.check('cuDeviceGetAttribute', api.cuDeviceGetAttribute(out.address, which, handle), `attribute ${which}`);
    return out.int();
  };
  // Old drivers do not know the newer attributes.
  const flag = (which: number): boolean =>
    api.cuDeviceGetAttribute(out.address, which, handle) === Cuda.success && out.int() !== 0;
  const text = (bytes: number, call: 'cuDeviceGetName' | 'cuDeviceGetPCIBusId'): string => {
    const name = new Uint8Array(bytes);
    // SAFETY: the function writes at most `bytes` bytes, the zero included; `name` outlives the call.
    errors.check(call, api[call](addressOf(name), bytes, handle));
    return textIn(name);
  };
  errors.check('cuDeviceTotalMem', api.cuDeviceTotalMem(out.address, handle));
  const memoryBytes = out.wide();
  return {
    ordinal,
    handle,
    name: text(256, 'cuDeviceGetName'),
    memoryBytes,
    multiprocessors: attribute(Attribute.multiprocessors),
    threadsPerMultiprocessor: attribute(Attribute.threadsPerMultiprocessor),
    architecture: attribute(Attribute.computeMajor) * 10 + attribute(Attribute.computeMinor),
    nearBytes: Math.max(attribute(Attribute.sharedPerBlock), attribute(Attribute.sharedPerBlockOptin)),
    clockMHz: attribute(Attribute.clockRate) / 1000,
    memoryClockMHz: attribute(Attribute.memoryClockRate) / 1000,
    busBits: attribute(Attribute.busWidth),
    l2Bytes: attribute(Attribute.l2Bytes),
    copyEngines: attribute(Attribute.asyncEngines),
    ecc: flag(Attribute.eccEnabled),
    registersHostMemory: flag(Attribute.hostRegister),
    memoryPools: flag(Attribute.memoryPools),
    limitsRunTime: flag(Attribute.kernelTimeout),
    computeMode: attribute(Attribute.computeMode),
    busId: text(64, 'cuDeviceGetPCIBusId').toLowerCase(),
  };
}

/** Why no process can open this GPU, if so. */
export function whyUnusable({ computeMode }: Gpu): string | undefined {
  return computeMode === COMPUTE_PROHIBITED
    ? 'its compute mode is "prohibited" (`nvidia-smi -c 0` changes it)'
    : undefined;
}

/** Facts from outside the driver API: from NVML and NVRTC. */
export interface GpuEnvironment {
  readonly cuda: number;
  readonly driver?: string | undefined;
  readonly nvrtc?: string | undefined;
  readonly link?: string | undefined;
}

export function describeGpu(gpu: Gpu, { cuda, driver, nvrtc, link }: GpuEnvironment): DeviceInfo {
  const bandwidth = (gpu.memoryClockMHz * 1e6 * 2 * gpu.busBits) / 8 / 1e9;
  return {
    id: `cuda:${gpu.ordinal}`,
    kind: 'cuda',
    processor: 'gpu',
    name: gpu.name,
    memoryBytes: gpu.memoryBytes,
    units: gpu.multiprocessors,
    capabilities: ['u64', 'f64', 'exact-floats', 'atomics', `sm_${gpu.architecture}`],
    limits: { bufferBytes: gpu.memoryBytes, lanes: 1024, nearBytes: gpu.nearBytes },
    versions: {
      ...(driver === undefined ? {} : { driver }),
      cuda: cudaVersion(cuda),
      ...(nvrtc === undefined ? {} : { nvrtc }),
      node: process.versions.node,
    },
    details: {
      'compute capability': `${Math.floor(gpu.architecture / 10)}.${gpu.architecture % 10}`,
      multiprocessors: String(gpu.multiprocessors),
      'workgroup memory': `${Math.floor(gpu.nearBytes / 1024)} KiB`,
      'L2 cache': `${(gpu.l2Bytes / 2 ** 20).toFixed(0)} MiB`,
      ...(gpu.clockMHz > 0 ? { clock: `${gpu.clockMHz.toFixed(0)} MHz` } : {}),
      ...(gpu.memoryClockMHz > 0
        ? { 'memory clock': `${gpu.memoryClockMHz.toFixed(0)} MHz × ${gpu.busBits} bits, ${bandwidth.toFixed(0)} GB/s` }
        : {}),
      'copy engines': String(gpu.copyEngines),
      ECC: gpu.ecc ? 'on' : 'off',
      ...(link === undefined ? {} : { link }),
      'PCI bus': gpu.busId,
    },
  };
}

/** Formats 13000 as "13.0". */
export const cudaVersion = (number: number): string =>
  `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`;
