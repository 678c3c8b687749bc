import { bindOnce } from '../../gpu/native/api.js';
import { koffi } from '../../native/koffi.js';

/**
 * CUDA's driver API, as a table: the symbol, then the types of its arguments. Pointers, handles and sizes are `wide`,
 * plain numbers in JavaScript (see libc.ts for why); output parameters point into `OutParameters`. Every driver call
 * goes through the object made from this table, so that a wrapper can time them all.
 *
 * The symbols are those that cuda.h maps the plain names to, from CUDA 11.7 on; `cuEventElapsedTime` keeps its first
 * version, since the second requires CUDA 12.8.
 */
const wide = 'uint64_t';
const word = 'uint32_t';
const int = 'int';
const byte = 'uint8_t';

const symbols = {
  cuInit: ['cuInit', word],
  cuDriverGetVersion: ['cuDriverGetVersion', wide],
  cuGetErrorName: ['cuGetErrorName', int, wide],
  cuGetErrorString: ['cuGetErrorString', int, wide],
  cuDeviceGetCount: ['cuDeviceGetCount', wide],
  cuDeviceGet: ['cuDeviceGet', wide, int],
  cuDeviceGetName: ['cuDeviceGetName', wide, int, int],
  cuDeviceTotalMem: ['cuDeviceTotalMem_v2', wide, int],
  cuDeviceGetAttribute: ['cuDeviceGetAttribute', wide, int, int],
  cuDeviceGetPCIBusId: ['cuDeviceGetPCIBusId', wide, int, int],
  cuDeviceGetDefaultMemPool: ['cuDeviceGetDefaultMemPool', wide, int],
  cuDevicePrimaryCtxSetFlags: ['cuDevicePrimaryCtxSetFlags_v2', int, word],
  cuDevicePrimaryCtxRetain: ['cuDevicePrimaryCtxRetain', wide, int],
  cuDevicePrimaryCtxRelease: ['cuDevicePrimaryCtxRelease_v2', int],
  cuCtxSetCurrent: ['cuCtxSetCurrent', wide],
  cuStreamCreate: ['cuStreamCreate', wide, word],
  cuStreamDestroy: ['cuStreamDestroy_v2', wide],
  cuStreamQuery: ['cuStreamQuery', wide],
  cuStreamSynchronize: ['cuStreamSynchronize', wide],
  cuStreamWaitEvent: ['cuStreamWaitEvent', wide, wide, word],
  cuStreamWriteValue32: ['cuStreamWriteValue32_v2', wide, wide, word, word],
  cuLaunchHostFunc: ['cuLaunchHostFunc', wide, wide, wide],
  cuEventCreate: ['cuEventCreate', wide, word],
  cuEventRecord: ['cuEventRecord', wide, wide],
  cuEventQuery: ['cuEventQuery', wide],
  cuEventSynchronize: ['cuEventSynchronize', wide],
  cuEventElapsedTime: ['cuEventElapsedTime', wide, wide, wide],
  cuEventDestroy: ['cuEventDestroy_v2', wide],
  cuModuleLoadData: ['cuModuleLoadData', wide, wide],
  cuModuleUnload: ['cuModuleUnload', wide],
  cuModuleGetFunction: ['cuModuleGetFunction', wide, wide, wide],
  cuFuncGetAttribute: ['cuFuncGetAttribute', wide, int, wide],
  cuFuncSetAttribute: ['cuFuncSetAttribute', wide, int, int],
  cuOccupancyMaxActiveBlocksPerMultiprocessor: ['cuOccupancyMaxActiveBlocksPerMultiprocessor', wide, wide, int, wide],
  cuLaunchKernel: ['cuLaunchKernel', wide, word, word, word, word, word, word, word, wide, wide, wide],
  cuMemGetInfo: ['cuMemGetInfo_v2', wide, wide],
  cuMemAlloc: ['cuMemAlloc_v2', wide, wide],
  cuMemFree: ['cuMemFree_v2', wide],
  cuMemAllocAsync: ['cuMemAllocAsync', wide, wide, wide],
  cuMemFreeAsync: ['cuMemFreeAsync', wide, wide],
  cuMemPoolGetAttribute: ['cuMemPoolGetAttribute', wide, int, wide],
  cuMemPoolTrimTo: ['cuMemPoolTrimTo', wide, wide],
  cuMemHostAlloc: ['cuMemHostAlloc', wide, wide, word],
  cuMemFreeHost: ['cuMemFreeHost', wide],
  cuMemHostRegister: ['cuMemHostRegister_v2', wide, wide, word],
  cuMemHostUnregister: ['cuMemHostUnregister', wide],
  cuMemHostGetDevicePointer: ['cuMemHostGetDevicePointer_v2', wide, wide, word],
  cuMemcpyHtoDAsync: ['cuMemcpyHtoDAsync_v2', wide, wide, wide, wide],
  cuMemcpyDtoHAsync: ['cuMemcpyDtoHAsync_v2', wide, wide, wide, wide],
  cuMemcpyDtoDAsync: ['cuMemcpyDtoDAsync_v2', wide, wide, wide, wide],
  cuMemsetD8Async: ['cuMemsetD8Async', wide, byte, wide, wide],
  cuMemsetD32Async: ['cuMemsetD32Async', wide, word, wide, wide],
} as const satisfies Readonly<Record<string, readonly [symbol: string, ...types: string[]]>>;

/** The functions of a table: all arguments are numbers, and each returns a result code. */
export type BoundFunctions<T extends Readonly<Record<string, readonly [string, ...string[]]>>> = {
  readonly [K in keyof T]: T[K] extends readonly [string, ...infer Args]
    ? (...args: { [I in keyof Args]: number }) => number
    : never;
};

export type CudaApi = BoundFunctions<typeof symbols>;
export type CudaCall = keyof CudaApi;

/** Binds the library at `path`, which `loadForever` has pinned; returns the reason if it is too old. */
export function cudaApi(path: string): CudaApi | { readonly reason: string } {
  try {
    return bind(path, symbols);
  } catch (error) {
    return { reason: `${path} is too old, a driver with CUDA 11.7 or newer is required: ${(error as Error).message}` };
  }
}

/** Throws if a symbol is missing: then the library is older than required. */
export function bind<T extends Readonly<Record<string, readonly [string, ...string[]]>>>(
  path: string,
  table: T,
): BoundFunctions<T> {
  return bindOnce<BoundFunctions<T>>(path, table, (library) => {
    const rows = Object.entries(table);
    const entries = rows.map(([name, [symbol, ...types]]) => [name, library.func(symbol, 'int', types)]);
    return Object.fromEntries(entries);
  });
}

/** Encodes text with the terminating zero of C, in memory that does not move while the array is referenced. */
export function cString(text: string): Uint8Array {
  const bytes = new Uint8Array(Buffer.byteLength(text) + 1);
  new TextEncoder().encodeInto(text, bytes);
  void bytes.buffer;
  return bytes;
}

/** Decodes what a C function wrote into an array, up to the zero. */
export function textIn(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(bytes.subarray(0, end < 0 ? bytes.length : end));
}

/** Reads text that belongs to a library. */
export function textAt(address: number): string {
  // SAFETY: only for the constant strings that libraries return.
  return address === 0 ? '' : koffi().decode.string(BigInt(address));
}

/** Values from cuda.h. */
export const Cuda = {
  success: 0,
  outOfMemory: 2,
  noDevice: 100,
  notReady: 600,
  /** Context: a waiting thread sleeps instead of spinning. */
  schedBlockingSync: 4,
  streamNonBlocking: 1,
  eventBlockingSync: 1,
  eventDisableTiming: 2,
  hostPortable: 1,
  hostMapped: 2,
  functionRegisters: 4,
  functionLocalBytes: 3,
  functionDynamicShared: 8,
  poolReserved: 5,
  poolUsed: 7,
} as const;

/** CUdevice_attribute. */
export const Attribute = {
  sharedPerBlock: 8,
  clockRate: 13,
  multiprocessors: 16,
  kernelTimeout: 17,
  computeMode: 20,
  eccEnabled: 32,
  memoryClockRate: 36,
  busWidth: 37,
  l2Bytes: 38,
  threadsPerMultiprocessor: 39,
  asyncEngines: 40,
  computeMajor: 75,
  computeMinor: 76,
  sharedPerBlockOptin: 97,
  hostRegister: 99,
  memoryPools: 115,
} as const;
