import type { CudaApi, CudaCall } from './runtime/api.js';

/**
 * Driver calls that may wait until nothing runs on the device, according to its documentation and to experience:
 * mapping, unmapping or locking memory, loading code (with lazy loading, when a function is first requested). While a
 * resident grid runs they would wait for its end, and the blocked thread is the one that must end it.
 */
const blockingCalls: readonly CudaCall[] = [
  'cuModuleLoadData',
  'cuModuleGetFunction',
  'cuModuleUnload',
  'cuFuncSetAttribute',
  'cuMemAlloc',
  'cuMemFree',
  'cuMemAllocAsync',
  'cuMemPoolTrimTo',
  'cuMemHostAlloc',
  'cuMemFreeHost',
  'cuMemHostRegister',
  'cuMemHostUnregister',
  'cuStreamCreate',
  'cuStreamDestroy',
];

/** The driver's functions. Those that may wait first make resident grids leave the device. */
export class ResidentGuard {
  readonly api: CudaApi;
  /** Removes grids from the device. */
  pause: () => void = () => undefined;

  constructor(api: CudaApi) {
    const guarded = blockingCalls.map((name) => {
      const call = api[name] as (...args: number[]) => number;
      const own = (...args: number[]): number => {
        this.pause();
        return call(...args);
      };
      return [name, own];
    });
    this.api = { ...api, ...Object.fromEntries(guarded) };
  }
}
