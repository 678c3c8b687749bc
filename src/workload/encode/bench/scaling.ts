import { findMaxWork, type ScalableWork } from '../../../bench/scaling.js';
import type { Device } from '../../../device/device.js';
import { Engine } from '../../../engine/index.js';
import { fillSynthetic } from '../files/synthetic.js';
import { encodeRows } from '../job/encode.js';
import { lengthOf, type StateShape } from '../kernel/encoding.js';

const QUBITS = 10;
const ROWS = 256;

/** The job of the scaling measurement: amplitudes of 10 qubits, copied to host memory, on all devices. */
export async function scalingJob(devices: readonly Device[], maxWork?: number): Promise<ScalableWork> {
  const shape: StateShape = { encoding: 'amplitude', qubits: QUBITS, length: lengthOf('amplitude', QUBITS) };
  const values = new Float32Array(ROWS * shape.length);
  fillSynthetic(shape, values, 0n);
  const samplesOf = function* (left: number): Generator<Float32Array> {
    for (; left > 0; left -= ROWS) yield left < ROWS ? values.subarray(0, left * shape.length) : values;
  };
  const engine = new Engine([...devices]);
  const run = async (work: number): Promise<number> => {
    const begun = performance.now();
    // The reference recomputes one state of each batch.
    for await (const batch of encodeRows(samplesOf(work), { shape, precision: 'f32', engine, devices }))
      batch.release();
    return (performance.now() - begun) / 1000;
  };
  await run(1); // compiles
  return { unit: 'vec', maxWork: maxWork ?? (await findMaxWork(run, 10 ** 8)), run, close: () => engine.close() };
}
