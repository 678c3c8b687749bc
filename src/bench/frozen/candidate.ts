import type { Device } from '../../device/device.js';
import type { Candidate } from '../measure.js';
import { readFrozen } from './files.js';
import { openReplay, type TextDevice } from './replay.js';

/** About how long a run takes. */
const RUN_SECONDS = 0.05;

/** Returns a workload's frozen kernel as a candidate on a device. Undefined if there is none. */
export async function frozenCandidate(
  workload: string,
  device: Device,
): Promise<(Candidate & { close(): void }) | undefined> {
  if (!isTextDevice(device)) return undefined;
  const recording = readFrozen(workload, device.info);
  if (recording === undefined) return undefined;
  const replay = await openReplay(device, recording);
  await replay.run(1);
  const { seconds } = await replay.run(1);
  const times = Math.max(1, Math.round(RUN_SECONDS / seconds));
  const run = async () => ({ ...(await replay.run(times)), work: times });
  return { name: `${workload}, frozen`, unit: 'runs', run, close: () => replay.close() };
}

const isTextDevice = (device: Device): device is TextDevice =>
  (device.info.kind === 'native' || device.info.kind === 'wasm') && 'load' in device;
