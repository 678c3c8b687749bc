import { newCopyMemory, ParallelCopier } from '../../gpu/host/parallel-copier.js';
import type { DriverHost } from '../../gpu/worker/driver.js';
import { koffiIfInstalled } from '../../native/koffi.js';
import { addressOf } from '../../native/libc.js';
import { runInThread } from '../../pool/threads/threads.js';
import type { CopyBytes } from '../memory/transfers.js';
import { webGpuWork } from '../work.js';

/** Shorter copies are done before an address is known. koffi is not loaded before the first longer one. */
const MIN_BYTES = 2 ** 18;

function copyFor({ copyMemory }: DriverHost): CopyBytes {
  const copier = new ParallelCopier(copyMemory ?? newCopyMemory());
  return (to, from) => {
    if (from.length < MIN_BYTES || !koffiIfInstalled()) to.set(from);
    // SAFETY: the caller holds both views, and keeps the buffer mapped, until this returns.
    else copier.copy(addressOf(to), addressOf(from), from.length);
  };
}

runInThread(webGpuWork(copyFor));
