import type { BenchCase, PeerComparison, WorkloadBench } from '../../../bench/case.js';
import type { Device, DeviceInfo } from '../../../device/device.js';
import { firstLine, MillraceError } from '../../../kernel/error.js';
import { openPeer, type PeerLibrary, type PeerWork } from './peers.js';
import { deviceRate, hostRate, type RateOptions } from './rate.js';
import { scalingJob } from './scaling.js';

const QUBITS = 16;
const CHECKED = 'the reference, first and last state, within 2e-15';
const noDoubles = ({ capabilities }: DeviceInfo): string | undefined =>
  capabilities.includes('f64') ? undefined : 'it has no 64-bit floats';
const isGpu = ({ info }: Device): boolean => info.processor === 'gpu';

/** Amplitudes of 16 qubits: 512 KiB of doubles in, 1 MiB of complex numbers out. */
const amplitude = (precision: 'f64' | 'f32', batch: number, batches: number, runs: number): RateOptions => ({
  encoding: 'amplitude',
  qubits: QUBITS,
  precision,
  batch,
  batches,
  runs,
});

const present = (batch: number): BenchCase => ({
  name: `amplitude, ${QUBITS} qubits × ${batch}, f64, encode only`,
  checkedBy: CHECKED,
  unitBytes: 24 * 2 ** QUBITS,
  bound: { limit: 'copy', perUnit: 24 * 2 ** QUBITS },
  unsupportedReason: noDoubles,
  // About 50 ms of an H200, and of two cores.
  open: (device, { runs }) =>
    deviceRate(device, amplitude('f64', batch, isGpu(device) ? Math.ceil(2 ** 16 / batch) : 2, runs)),
});

const fromHost = (from: 'pinned' | 'plain', precision: 'f64' | 'f32'): BenchCase => ({
  name: `amplitude, ${QUBITS} qubits × 64, ${precision}, from ${from === 'pinned' ? 'page-locked memory' : 'plain arrays'}`,
  checkedBy: precision === 'f64' ? CHECKED : CHECKED.replace('2e-15', '1e-6'),
  unitBytes: (precision === 'f64' ? 8 : 4) * 2 ** QUBITS,
  bound: { limit: 'to device', perUnit: (precision === 'f64' ? 8 : 4) * 2 ** QUBITS },
  ...(precision === 'f64' && { unsupportedReason: noDoubles }),
  open: (device, { runs }) =>
    isGpu(device)
      ? hostRate(device, from, { ...amplitude(precision, 64, 200, runs), inFlight: 16 })
      : hostRate(device, from, amplitude(precision, 64, 4, runs)),
});

/** The size in the specification: 500 batches, 20 trials. */
const specified: BenchCase = {
  ...fromHost('pinned', 'f64'),
  name: `amplitude, ${QUBITS} qubits × 64, f64, 500 batches × 20 trials`,
  isLong: true,
  unsupportedReason: (info) =>
    noDoubles(info) ?? (info.processor === 'cpu' ? 'a CPU takes a quarter of an hour for it' : undefined),
  open: (device, { runs }) =>
    hostRate(device, 'pinned', { ...amplitude('f64', 64, 500, Math.max(20, runs)), inFlight: 16 }),
};

export const encodeCases: WorkloadBench = {
  workload: 'encode',
  cases: [
    present(64),
    { ...present(1024), isLong: true },
    fromHost('pinned', 'f64'),
    { ...fromHost('plain', 'f64'), isLong: true },
    { ...fromHost('pinned', 'f32'), isLong: true },
    specified,
  ],
  sized: scalingJob,
  async *peers(device, { runs }) {
    if (device.info.kind !== 'cuda' && device.info.kind !== 'native') return;
    const place = device.info.kind === 'cuda' ? 'cuda' : 'cpu';
    // Long enough that the time to wake threads does not matter: 40 ms of an H200, 0.2 s of two cores.
    const batches = place === 'cuda' ? 1000 : 16;
    yield* sideBySide(device, { qubits: QUBITS, batch: 64, batches, runs, place, from: 'there' });
    if (place === 'cpu') return;
    for (const from of ['pinned', 'plain'] as const) {
      yield* sideBySide(device, { qubits: QUBITS, batch: 64, batches: 200, runs, place, from });
    }
  },
};

/** Compares Millrace with the installed peers, all with the same samples. */
async function* sideBySide(
  device: Device,
  work: PeerWork & { readonly from: 'there' | 'pinned' | 'plain' },
): AsyncGenerator<PeerComparison> {
  const { batch, batches, runs, from, place } = work;
  const how = amplitude('f64', batch, batches, runs);
  const ours = await (from === 'there' ? deviceRate(device, how) : hostRate(device, from, { ...how, inFlight: 16 }));
  const libraries: PeerLibrary[] = place === 'cpu' ? ['NumPy', 'PyTorch'] : ['PyTorch'];
  const others = [];
  try {
    const absent: string[] = [];
    for (const library of libraries) {
      const named = place === 'cuda' ? `${library} with CUDA` : library;
      try {
        const peer = await openPeer(library, device, work);
        if (peer) others.push(peer);
        else absent.push(named);
      } catch (error) {
        if (!(error instanceof MillraceError)) throw error;
        absent.push(`${named} (${firstLine(error)})`);
      }
    }
    const where = {
      there: 'samples where they are encoded',
      pinned: 'from page-locked memory',
      plain: 'from plain arrays',
    };
    const title = `amplitudes of ${QUBITS} qubits × ${batch}, f64, ${where[from]}, ${device.info.id}`;
    yield { title, candidates: [{ ...ours, name: `millrace, ${device.info.id}` }, ...others], absent };
  } finally {
    for (const one of others) one.close();
    ours.close();
  }
}
