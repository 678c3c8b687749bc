import { deviceAbsent } from '../../checks/absent.js';
import { OutParameters } from '../../gpu/native/api.js';
import { hex } from '../../gpu/native/driver.js';
import type { DriverHost } from '../../gpu/worker/driver.js';
import { preservingSignals } from '../../native/libc.js';
import { ResidentGuard } from '../resident-guard.js';
import { Cuda, type CudaApi, cudaApi } from './api.js';
import { CudaErrors } from './errors.js';
import { cudaVersion, type Gpu, readGpu, startDriver, whyUnusable } from './info.js';
import { findLibrary } from './library.js';

/** A GPU's primary context, current in the thread that opened it. Only that thread uses it. */
export interface Context {
  readonly api: CudaApi;
  /** Makes resident grids leave the device before a call that may wait for it. */
  readonly guard: ResidentGuard;
  readonly errors: CudaErrors;
  readonly gpu: Gpu;
  /** The driver's CUDA version: 13000. */
  readonly version: number;
  /** The device's memory pool, if it has one. */
  readonly pool: number | undefined;
  close(): void;
}

const PRIMARY_CONTEXT_ACTIVE = 708;

/** Opens the context. Takes 0.3 s if no other program uses the GPU. */
export function openContext(ordinal: number, { calls, log }: DriverHost): Context {
  const id = `cuda:${ordinal}`;
  const found = findLibrary('cuda');
  if ('reason' in found) throw deviceAbsent(id, found.reason);
  const bound = cudaApi(found.path);
  if ('reason' in bound) throw deviceAbsent(id, bound.reason);
  const guard = new ResidentGuard(calls.wrap(bound));
  const { api } = guard;
  const started = startDriver(api);
  if ('reason' in started) throw deviceAbsent(id, started.reason);
  const gpu = readGpu(api, ordinal);
  const refusal = whyUnusable(gpu);
  if (refusal !== undefined) throw deviceAbsent(id, `${gpu.name}: ${refusal}`);
  const errors = new CudaErrors(api, `${id} (${gpu.name})`);
  const out = new OutParameters();
  // Waits sleep instead of spinning. Another library in this process may have opened the context already, with other
  // flags.
  const flags = api.cuDevicePrimaryCtxSetFlags(gpu.handle, Cuda.schedBlockingSync);
  if (flags !== PRIMARY_CONTEXT_ACTIVE) errors.check('cuDevicePrimaryCtxSetFlags', flags);
  errors.check(
    'cuDevicePrimaryCtxRetain',
    preservingSignals(() => api.cuDevicePrimaryCtxRetain(out.address, gpu.handle)),
    'opening the device',
  );
  const handle = out.wide();
  const current = api.cuCtxSetCurrent(handle);
  if (current !== Cuda.success) {
    api.cuDevicePrimaryCtxRelease(gpu.handle);
    throw errors.errorFor('cuCtxSetCurrent', current, 'opening the device');
  }
  log(`context ${hex(handle)} of ${id}, ${gpu.name}, CUDA ${cudaVersion(started.version)}, ${found.path}`);
  const pooled = gpu.memoryPools && api.cuDeviceGetDefaultMemPool(out.address, gpu.handle) === Cuda.success;
  return {
    api,
    guard,
    errors,
    gpu,
    version: started.version,
    pool: pooled ? out.wide() : undefined,
    close: () => {
      api.cuCtxSetCurrent(0);
      api.cuDevicePrimaryCtxRelease(gpu.handle);
      log(`context ${hex(handle)} released`);
    },
  };
}
