import { dataDirectory } from './console/command/paths.js';
import { openDevices } from './device/registry.js';
import { openDevicesWith, setTuningStore } from './engine/index.js';
import { LedgerTunings } from './store/client/tunings.js';

export * from './device/device.js';
export { listDevices, openDevice, openDevices } from './device/registry.js';
export * from './engine/index.js';
export * from './kernel/index.js';
export { type JobLedger, type JobSpec, openStore, programText, type Store } from './store/index.js';
export * from './workload/block/index.js';
export * from './workload/encode/index.js';
export * from './workload/gaps/index.js';
export * from './workload/uhash/index.js';

openDevicesWith(openDevices);
// Programs use the results of `millrace tune` too. Only a call of `saveTuning` writes to the ledger.
setTuningStore(new LedgerTunings(process.env.MILLRACE_DATA_DIR ?? process.env.MILLRACE_HOME ?? dataDirectory()));
