import { type Candidate, compare } from '../../../bench/measure.js';
import type { Device } from '../../../device/device.js';
import { loader } from '../files/loader.js';
import { fillSynthetic } from '../files/synthetic.js';
import { lengthOf } from '../kernel/encoding.js';
import { endToEndRate, magnitudes } from './end-to-end.js';
import { openPeer, type PeerLibrary } from './peers.js';
import { checkedStates, deviceRate, type EncodeRate, hostRate, type RateOptions } from './rate.js';
import type { Results } from './statistics.js';

/** A row of the report: a loop from samples to a sum, or encoding alone. */
export type NamedResults = Results & { readonly name: string };

interface Row {
  readonly name: string;
  open(): Promise<(Candidate & { close(): void }) | undefined>;
}

/**
 * Measures everything that the benchmark of the Python package measures, under the same names, in alternation: loops end to
 * end, and encoding alone from page-locked memory, plain arrays and the device; beside PyTorch and NumPy, where Python has
 * them. The loops of all libraries make the same samples, normalise them, encode them and sum magnitudes.
 */
export async function allRows(
  device: Device,
  options: RateOptions & { readonly runs: number },
): Promise<{ readonly path: string; readonly rows: readonly NamedResults[]; readonly absent: readonly string[] }> {
  const opened: { readonly name: string; readonly candidate: Candidate; close(): void }[] = [];
  const absent: string[] = [];
  let path = '';
  try {
    for (const row of rowsOf(device, options)) {
      const candidate = await row.open();
      if (candidate) opened.push({ name: row.name, candidate, close: () => candidate.close() });
      else absent.push(row.name);
      if (candidate && 'path' in candidate && path === '') path = (candidate as EncodeRate).path;
    }
    const trials = opened.map((): number[] => []);
    await compare(
      opened.map(({ candidate }, at) => ({
        ...candidate,
        runs: options.runs,
        run: async () => {
          const begun = performance.now();
          const run = await candidate.run();
          trials[at]?.push(run.work / (run.seconds ?? (performance.now() - begun) / 1000));
          return run;
        },
      })),
    );
    // The first run of each only warms up.
    const rows = opened.map(({ name }, at) => ({ name, trials: trials[at]?.slice(1) ?? [], latencies: {} }));
    return { path, rows, absent };
  } finally {
    for (const one of opened) one.close();
  }
}

function rowsOf(device: Device, options: RateOptions & { readonly runs: number }): Row[] {
  const { inFlight = 4 } = options;
  const peers = peerRows(device, options);
  return [
    { name: 'end-to-end: engine', open: () => endToEndRate(device, { ...options, inFlight: 1 }) },
    { name: `end-to-end: engine, stream, ${inFlight} in flight`, open: () => endToEndRate(device, options) },
    { name: 'end-to-end: engine, loader', open: () => loaderRate(device, options) },
    ...peers('loop', 'end-to-end', ''),
    { name: 'encode-only: engine, page-locked samples', open: () => hostRate(device, 'pinned', options) },
    ...(device.info.kind === 'cuda' ? peers('pinned', 'encode-only', ', page-locked samples') : []),
    { name: 'encode-only: engine, plain samples', open: () => hostRate(device, 'plain', options) },
    ...(device.info.kind === 'cuda' ? peers('plain', 'encode-only', ', plain samples') : []),
    { name: 'encode-only: engine, samples on the device', open: () => deviceRate(device, options) },
    ...peers('there', 'encode-only', ', samples on the device'),
  ];
}

/** Rows of PyTorch and NumPy, which have amplitudes in f64 alone. */
function peerRows(device: Device, options: RateOptions & { readonly runs: number }) {
  const { encoding, qubits, precision, batch = 64, batches, runs } = options;
  const place = device.info.kind === 'cuda' ? 'cuda' : 'cpu';
  const libraries: PeerLibrary[] = place === 'cuda' ? ['PyTorch'] : ['PyTorch', 'NumPy'];
  const hasPeers = encoding === 'amplitude' && precision === 'f64';
  return (from: 'loop' | 'pinned' | 'plain' | 'there', mode: string, what: string): Row[] =>
    (hasPeers ? libraries : []).map((library) => ({
      name: `${mode}: ${library}${what}`,
      open: () => openPeer(library, device, { qubits, batch, batches, runs, place, from }),
    }));
}

/** Measures the loader: its batches are made ahead, and the device divides by the norm. */
async function loaderRate(device: Device, options: RateOptions): Promise<Candidate & { close(): void }> {
  const { encoding, qubits, precision = 'f32', batch = 64, batches } = options;
  const states = loader(device)
    .qubits(qubits)
    .encoding(encoding)
    .batches(batches, batch)
    .dtype(precision)
    .prefetch(options.inFlight ?? 4)
    .synthetic();
  const shape = { encoding, qubits, length: lengthOf(encoding, qubits) };
  const lastValues = new Float64Array(batch * shape.length);
  fillSynthetic(shape, lastValues, BigInt((batches - 1) * batch));
  return {
    name: `${encoding} ${qubits} × ${batch}, ${precision}, loader`,
    unit: 'vec',
    run: async () => {
      const begun = performance.now();
      let last: Float64Array | Float32Array = new Float64Array();
      let total = 0;
      for await (const made of states) {
        last = await made.read();
        total += magnitudes(last);
        made.release();
      }
      const seconds = (performance.now() - begun) / 1000;
      if (!Number.isFinite(total)) throw new TypeError('the sum of magnitudes is not finite');
      const digest = checkedStates(device, shape, precision, lastValues, last);
      return { seconds, work: batches * batch, digest };
    },
    close: () => undefined,
  };
}
