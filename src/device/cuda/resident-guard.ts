import type { CudaApi, CudaCall } from './runtime/api.js';

/**
 * Calls of the driver that may wait until nothing runs on the device, as far as its documentation and experience tell:
 * memory that is mapped, unmapped or locked, code that is loaded (with lazy loading when a function is first asked for).
 * While a resident grid runs they would wait for its end, and the thread that must end it would be the one that waits.
 */
const waiting: readonly CudaCall[] = [
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

/** The driver's functions, of which those that may wait first have resident grids leave the device. */
export class Guard {
  readonly api: CudaApi;
  /** Gets grids off the device. */
  pause: () => void = () => undefined;

  constructor(api: CudaApi) {
    const guarded = waiting.map((name) => {
      const call = api[name] as (...given: number[]) => number;
      const own = (...given: number[]): number => {
        this.pause();
        return call(...given);
      };
      return [name, own];
    });
    this.api = { ...api, ...Object.fromEntries(guarded) };
  }
}
