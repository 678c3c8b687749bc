import type { DeviceInfo } from '../../device.js';
import { OutParameters } from '../../gpu/native/api.js';
import { addressOf } from '../../native/libc.js';
import { CL, type OpenClApi, type OpenClCall } from './api.js';
import { OpenClErrors } from './errors.js';
import { missingPlatforms } from './library.js';

/** Properties of a device as its platform reports them; read, never assumed. */
export interface ClDevice {
  /** The number among all usable devices, GPUs first. */
  readonly number: number;
  readonly handle: number;
  readonly platform: { readonly name: string; readonly version: string };
  readonly name: string;
  readonly vendor: string;
  readonly isCpu: boolean;
  readonly version: string;
  readonly driver: string;
  readonly profile: string;
  readonly extensions: ReadonlySet<string>;
  readonly units: number;
  readonly clockMHz: number;
  readonly memoryBytes: number;
  readonly bufferBytes: number;
  readonly nearBytes: number;
  /** True if it has dedicated workgroup memory rather than a part of global memory. */
  readonly hasNear: boolean;
  readonly workgroup: number;
  /** Bits as in `CL.FP_…`; 0 if the type is missing. */
  readonly single: number;
  readonly double: number;
  readonly subgroups: boolean;
  /** NVIDIA's compute capability: 9.0 is 90. */
  readonly architecture: number | undefined;
}

const MAX_HANDLES = 64;

/**
 * Lists all devices that kernels can run on, GPUs first, each platform in the loader's order; or says why there is
 * none.
 */
export function listDevices(api: OpenClApi): readonly ClDevice[] | { readonly reason: string } {
  const list = new BigUint64Array(MAX_HANDLES);
  const out = new OutParameters();
  // SAFETY: here and below at most MAX_HANDLES handles are written into a list of as many, which outlives the call.
  const code = api.clGetPlatformIDs(MAX_HANDLES, addressOf(list), out.address);
  if (code !== 0 || out.int() === 0) return { reason: missingPlatforms() };
  const platforms = handles(list, out.int());
  const found: ClDevice[] = [];
  const faults: string[] = [];
  for (const platform of platforms) {
    const reader = new InfoReader(api, 'clGetPlatformInfo', platform);
    const own = { name: reader.text(CL.PLATFORM_NAME), version: reader.text(CL.PLATFORM_VERSION) };
    // A platform without a device reports that by an error.
    if (
      api.clGetDeviceIDs(platform, CL.DEVICE_TYPE_ALL, MAX_HANDLES, addressOf(list), out.address) !== 0 ||
      out.int() === 0
    ) {
      faults.push(`the platform ${own.name} has no device`);
      continue;
    }
    for (const handle of handles(list, out.int())) {
      const device = readDevice(api, handle, own);
      if (typeof device === 'string') faults.push(device);
      else found.push(device);
    }
  }
  if (found.length === 0) return { reason: faults.join('; ') };
  const order = [...found.filter(({ isCpu }) => !isCpu), ...found.filter(({ isCpu }) => isCpu)];
  return order.map((device, number) => ({ ...device, number }));
}

const handles = (list: BigUint64Array, count: number): number[] =>
  Array.from(list.subarray(0, Math.min(count, MAX_HANDLES)), Number);

/** Reads a device; returns the reason if kernels cannot run on it. */
function readDevice(api: OpenClApi, handle: number, platform: ClDevice['platform']): ClDevice | string {
  const reader = new InfoReader(api, 'clGetDeviceInfo', handle);
  const name = reader.text(CL.DEVICE_NAME).replaceAll(/\s+/g, ' ').trim();
  if (reader.number(CL.DEVICE_AVAILABLE) === 0) return `${name} is not available`;
  if (reader.number(CL.DEVICE_COMPILER_AVAILABLE) === 0) return `${platform.name} has no compiler for ${name}`;
  if (reader.number(CL.DEVICE_ENDIAN_LITTLE) === 0) return `${name} is big-endian`;
  const extensions = new Set(reader.text(CL.DEVICE_EXTENSIONS).split(' '));
  const major = reader.number(CL.DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
  return {
    number: 0,
    handle,
    platform,
    name,
    vendor: reader.text(CL.DEVICE_VENDOR),
    isCpu: (reader.number(CL.DEVICE_TYPE) & CL.DEVICE_TYPE_CPU) !== 0,
    version: reader.text(CL.DEVICE_VERSION),
    driver: reader.text(CL.DRIVER_VERSION),
    profile: reader.text(CL.DEVICE_PROFILE),
    extensions,
    units: reader.number(CL.DEVICE_MAX_COMPUTE_UNITS),
    clockMHz: reader.number(CL.DEVICE_MAX_CLOCK_FREQUENCY),
    memoryBytes: reader.number(CL.DEVICE_GLOBAL_MEM_SIZE),
    bufferBytes: reader.number(CL.DEVICE_MAX_MEM_ALLOC_SIZE),
    nearBytes: reader.number(CL.DEVICE_LOCAL_MEM_SIZE),
    hasNear: reader.number(CL.DEVICE_LOCAL_MEM_TYPE) === 1,
    workgroup: reader.number(CL.DEVICE_MAX_WORK_GROUP_SIZE),
    single: reader.number(CL.DEVICE_SINGLE_FP_CONFIG),
    double: reader.number(CL.DEVICE_DOUBLE_FP_CONFIG),
    subgroups: extensions.has('cl_khr_subgroups') || reader.number(CL.DEVICE_MAX_NUM_SUB_GROUPS) > 0,
    architecture: major === 0 ? undefined : major * 10 + reader.number(CL.DEVICE_COMPUTE_CAPABILITY_MINOR_NV),
  };
}

/** Queries one object. Unknown values (an older version, a missing extension) are 0 or ''. */
class InfoReader {
  readonly #api: OpenClApi;
  readonly #call: 'clGetPlatformInfo' | 'clGetDeviceInfo';
  readonly #handle: number;
  readonly #out = new OutParameters();

  constructor(api: OpenClApi, call: Extract<OpenClCall, 'clGetPlatformInfo' | 'clGetDeviceInfo'>, handle: number) {
    this.#api = api;
    this.#call = call;
    this.#handle = handle;
  }

  /** Reads a number of 4 or 8 bytes. */
  number(name: number): number {
    this.#out.put(0);
    // SAFETY: at most 8 bytes are written into a cell of 8.
    return this.#api[this.#call](this.#handle, name, 8, this.#out.address, 0) === 0 ? this.#out.wide() : 0;
  }

  text(name: number): string {
    if (this.#api[this.#call](this.#handle, name, 0, 0, this.#out.address) !== 0) return '';
    const bytes = new Uint8Array(this.#out.wide());
    // SAFETY: as many bytes as it has just reported; `bytes` outlives the call.
    if (bytes.length === 0 || this.#api[this.#call](this.#handle, name, bytes.length, addressOf(bytes), 0) !== 0)
      return '';
    const end = bytes.indexOf(0);
    return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end)).trim();
  }
}

const EXACT_DOUBLE = CL.FP_DENORM | CL.FP_INF_NAN | CL.FP_ROUND_TO_NEAREST | CL.FP_FMA;
const EXACT_SINGLE = CL.FP_DENORM | CL.FP_INF_NAN | CL.FP_ROUND_TO_NEAREST;

const wideAtomics = ['cl_khr_int64_base_atomics', 'cl_khr_int64_extended_atomics'];

/**
 * The capabilities that a kernel may require. `f32`: sums and products as in IEEE 754, denormals included;
 * `f32-divide`: quotients and square roots correctly rounded too, which OpenCL leaves to the device. `exact-floats` is
 * both. Atomics on 32-bit words are in every device since OpenCL 1.1; those on u64 are two extensions.
 */
export function capabilitiesOf(device: ClDevice): readonly string[] {
  const { profile, extensions, single, double, subgroups, architecture } = device;
  const has = (config: number, bits: number): boolean => (config & bits) === bits;
  const isUnderreported = underreportsFloats(device);
  const sums = isUnderreported || has(single, EXACT_SINGLE);
  const quotients = isUnderreported || has(single, CL.FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
  return [
    ...(profile === 'FULL_PROFILE' || extensions.has('cles_khr_int64') ? ['u64'] : []),
    ...(has(double, EXACT_DOUBLE) ? ['f64'] : []),
    ...(sums ? ['f32'] : []),
    ...(quotients ? ['f32-divide'] : []),
    ...(sums && quotients ? ['exact-floats'] : []),
    'atomics',
    ...(wideAtomics.every((name) => extensions.has(name)) ? ['u64-atomics'] : []),
    ...(subgroups ? ['subgroups'] : []),
    ...(architecture === undefined ? [] : [`sm_${architecture}`]),
  ];
}

/**
 * PoCL claims denormals and rounded quotients of f32 for x86 only. Its code for AArch64 has them too: there denormals
 * are kept, by vectors as well, until a bit is set that PoCL leaves clear, and single instructions divide and take
 * roots. The conformance suite finds every bit correct (PoCL 3.1, Neoverse-N1).
 */
const underreportsFloats = ({ isCpu, platform, version }: ClDevice): boolean =>
  isCpu && platform.name === 'Portable Computing Language' && /\baarch64\b/.test(version);

/** True if the platform is NVIDIA's own. PoCL has NVIDIA's devices too, with another compiler. */
export const acceptsPtx = ({ details }: DeviceInfo): boolean => details?.platform?.startsWith('NVIDIA') ?? false;

/** The most threads of a workgroup that texts are written for. */
const MAX_THREADS = 1024;

export function describeDevice(device: ClDevice): DeviceInfo {
  const { number, name, isCpu, platform, driver, version, units, clockMHz, nearBytes, hasNear, architecture } = device;
  return {
    id: `opencl:${number}`,
    kind: 'opencl',
    processor: isCpu ? 'cpu' : 'gpu',
    name,
    memoryBytes: device.memoryBytes,
    units,
    capabilities: capabilitiesOf(device),
    limits: {
      bufferBytes: device.bufferBytes,
      lanes: Math.min(device.workgroup, MAX_THREADS),
      nearBytes: device.nearBytes,
    },
    versions: { driver, opencl: version, platform: platform.version, node: process.versions.node },
    details: {
      platform: platform.name,
      vendor: device.vendor,
      'workgroup memory': `${Math.floor(nearBytes / 1024)} KiB${hasNear ? '' : ', part of global memory'}`,
      'largest workgroup': `${device.workgroup} threads`,
      ...(clockMHz > 0 ? { clock: `${clockMHz} MHz` } : {}),
      ...(architecture === undefined
        ? {}
        : { 'compute capability': `${Math.floor(architecture / 10)}.${architecture % 10}` }),
    },
  };
}

/** Errors that name the device. */
export const errorsOf = ({ number, name }: ClDevice): OpenClErrors => new OpenClErrors(`opencl:${number} (${name})`);
