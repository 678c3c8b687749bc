import { runInThread } from '../pool/threads/threads.js';
import { probeAdapters } from './info.js';
import { shutDownBeforeExit } from './shut-down.js';

// In Node the probe runs in a separate thread: the main thread must not wait for drivers, nor hold promises of Dawn.
runInThread<undefined>(async (_, ready, port) => {
  shutDownBeforeExit(() => probed);
  const probed = probeAdapters();
  port.post(await probed.catch((error) => ({ reason: error instanceof Error ? error.message : String(error) })));
  ready();
});
