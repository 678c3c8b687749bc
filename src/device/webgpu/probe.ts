import { inThread } from '../pool/threads/threads.js';
import { probeAdapters } from './info.js';
import { leaveInTime } from './leave.js';

// In Node the probe is a thread of its own: the main thread must not wait for drivers, nor hold promises of Dawn's.
inThread<undefined>(async (_, ready, port) => {
  leaveInTime(() => probed);
  const probed = probeAdapters();
  port.post(await probed.catch((error) => ({ reason: error instanceof Error ? error.message : String(error) })));
  ready();
});
