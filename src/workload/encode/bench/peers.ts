import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Candidate, Run } from '../../../bench/measure.js';
import { temporaryFolder } from '../../../device/cache/temporary.js';
import type { Device } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import { fillSynthetic } from '../files/synthetic.js';
import { lengthOf, type StateShape } from '../kernel/encoding.js';
import { referenceStates } from '../kernel/reference.js';
import { PEER_PROGRAM } from './peer-program.js';

/** The work of a peer: amplitudes in f64, a batch at a time. */
export interface PeerWork {
  readonly qubits: number;
  readonly batch: number;
  /** Batches of a run. */
  readonly batches: number;
  readonly runs: number;
  /** The processor on which the peer runs. */
  readonly place: 'cpu' | 'cuda';
  /** Where samples are when a run begins; `loop`: it makes and normalises them itself, and sums the states' magnitudes. */
  readonly from: 'there' | 'pinned' | 'plain' | 'loop';
}

export interface OpenPeer extends Candidate {
  close(): void;
}

export type PeerLibrary = 'NumPy' | 'PyTorch';

/**
 * Opens NumPy or PyTorch in a Python process that stays open, so that only its work is timed. The process reads our samples
 * from a file, writes its first and last state for a check by our reference, and then runs on request. Undefined if the
 * library is not installed or lacks CUDA.
 */
export async function openPeer(library: PeerLibrary, device: Device, work: PeerWork): Promise<OpenPeer | undefined> {
  const { path: folder, remove } = temporaryFolder(tmpdir(), 'millrace-peer-');
  const shape: StateShape = {
    encoding: 'amplitude',
    qubits: work.qubits,
    length: lengthOf('amplitude', work.qubits),
  };
  const values = new Float64Array(work.batch * shape.length);
  fillSynthetic(shape, values, 0n);
  writeFileSync(join(folder, 'samples'), values);
  const asked = { library, folder, ...work, length: shape.length };
  const python = new PythonPeer(JSON.stringify(asked));
  const close = (): void => {
    python.end();
    remove();
  };
  try {
    const begun = await python.answer();
    if (begun === undefined) {
      close();
      return undefined;
    }
    check(library, shape, values, join(folder, 'states'));
    const run = async (): Promise<Run> => {
      const { seconds, digest } = (await python.ask()) as { seconds: number; digest: string };
      return { seconds, work: work.batches * work.batch, digest };
    };
    const { version, how } = begun as { version: string; how: string };
    const where = work.place === 'cpu' ? '' : `, ${device.info.id}`;
    return { name: `${library} ${version}${where}: ${how}`, unit: 'vec', runs: work.runs, run, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** Checks a peer's first and last state against the reference. */
function check(library: string, shape: StateShape, values: Float64Array, file: string): void {
  const bytes = readFileSync(file);
  const given = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
  const last = values.length - shape.length;
  const size = 2 ** (shape.qubits + 1);
  for (const [at, from] of [0, last].entries()) {
    const right = referenceStates(shape, 1, values.subarray(from, from + shape.length), { precision: 'f64' });
    const bad = right.findIndex((value, i) => !(Math.abs((given[at * size + i] ?? Number.NaN) - value) <= 1e-14));
    if (bad < 0) continue;
    throw new MillraceError({
      code: 'device-failed',
      message: `${library}: part ${bad} of a state is ${given[at * size + bad]}, not ${right[bad]}`,
      asked: `amplitudes of ${shape.qubits} qubits by ${library}`,
      advice: 'a figure for wrong results is worth nothing',
    });
  }
}

/** Each line written to the process starts a run; each line read is a result. */
class PythonPeer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #said = '';

  constructor(asked: string) {
    this.#child = spawn('python3', ['-c', PEER_PROGRAM, asked], { stdio: 'pipe' });
    // A missing library shows as a missing answer; later the last line says why the process has ended.
    this.#child.stderr.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString()).slice(-2000);
    });
    this.#child.stdin.on('error', () => {});
    // Without Python the output ends at once, which counts as the answer.
    this.#child.on('error', () => {});
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  /** Returns the next answer; undefined when the process has ended. */
  async answer(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    return done === true ? undefined : JSON.parse(value);
  }

  async ask(): Promise<unknown> {
    this.#child.stdin.write('run\n');
    const result = await this.answer();
    if (result !== undefined) return result;
    throw new MillraceError({
      code: 'device-failed',
      message: `the Python process of a peer has ended: ${this.#said.trim().split('\n').at(-1) ?? ''}`,
      asked: 'a run of a peer',
      advice: 'try again without --peers',
    });
  }

  end(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }
}
