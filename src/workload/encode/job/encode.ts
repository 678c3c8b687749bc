import type { Device } from '../../../device/device.js';
import { type Flow, type FlowStep, flow } from '../../../engine/flow/flow.js';
import type { Engine, Piece, TransformedRow } from '../../../engine/index.js';
import { batches } from '../../../engine/makers/batches.js';
import { paddedBytes, rowsPerBatch } from '../../../engine/makers/buffer-choice.js';
import { InputSource } from '../../../engine/makers/row-source.js';
import type { Verify } from '../../../engine/verify/verify.js';
import { MAX_INDICES } from '../../../engine/work/space.js';
import type { WideFloat } from '../../../kernel/index.js';
import { type Precision, type QubitOrder, type StateShape, stateBytes } from '../kernel/encoding.js';
import { bindingOf, type EncodePlan, planFor } from '../kernel/plan.js';
import { referenceStates } from '../kernel/reference.js';
import { checkMemory, sumOf } from './memory.js';
import { checkedRowsFor, normShowsAll, rowBytesOf, type Values } from './rows.js';
import { checkBatch, checkLength, checkNorm } from './validate.js';

export interface EncodeOptions {
  readonly shape: StateShape;
  readonly precision?: Precision;
  readonly order?: QubitOrder;
  readonly engine: Engine;
  readonly devices: readonly Device[];
  /** Largest output batch, in samples. */
  readonly batch?: number;
  /** States of each batch that the reference recomputes; default 1, but at most a fiftieth of the time. */
  readonly samples?: number;
  /** Called with an input array when it is no longer needed. */
  readonly release?: (rows: ArrayBufferView) => void;
  readonly signal?: AbortSignal;
}

/** States of consecutive samples, in host memory, until they are released. */
export interface StateBatch {
  readonly start: bigint;
  readonly count: number;
  readonly bytes: Uint8Array;
  release(): void;
}

/**
 * Encodes samples on the devices of an engine, in order. The devices set the size of chunks, not the input arrays. A
 * sample with an invalid norm is found when its states come back; nothing waits for this check before.
 */
export async function* encodeRows(
  source: Iterable<Values> | AsyncIterable<Values>,
  options: EncodeOptions,
): AsyncGenerator<StateBatch, void, undefined> {
  const { shape, precision = 'f32', devices, engine, signal, release } = options;
  checkLength(shape);
  const rowBytes = stateBytes(shape.qubits, precision);
  const inputBytes = rowBytesOf(shape, precision);
  const batchBytes = Math.max(BATCH_BYTES, rowBytes, inputBytes, (options.batch ?? 0) * rowBytes);
  const fitting = rowsPerBatch(Math.max(inputBytes, rowBytes), batchBytes, MAX_INDICES);
  const maxSamples = Math.min(fitting, options.batch ?? fitting);
  // Samples must be valid on all devices: the device with the strictest checks decides.
  const strictest = devices.find(({ info }) => !normShowsAll(info)) ?? devices[0];
  const rows = (values: Values, first: number): ArrayBufferView => {
    const made = checkedRowsFor((strictest as Device).info, shape, precision, values, first);
    if (made !== values && ArrayBuffer.isView(values)) release?.(values);
    return made;
  };
  const input = new InputSource(
    strictest ? checkedRows(source, rows, shape) : [],
    inputBytes,
    AHEAD_BATCHES * maxSamples,
    release,
  );
  const norms = new BadNorms();
  const pace = new CheckPacer();
  const { samples = () => (pace.isDue ? 1 : 0) } = options;
  const verify = samples === 0 ? undefined : verifier(options, precision, pace);
  const made = batches<TransformedRow>({
    flow: encodeFlow(options, precision, input, norms, maxSamples),
    options: {
      engine,
      rowBytes,
      samples,
      ...(verify && { verify }),
      ...(signal && { signal }),
    },
    source: () => input,
    row: (index, bytes) => ({ index, bytes, input: input.row(index) }),
  });
  for await (const batch of made) {
    const bad = norms.takeFirst(batch);
    if (bad) {
      batch.release();
      checkNorm(shape, bad.squares, Number(bad.sample), bad.accumulated);
    }
    yield batch;
  }
}

const BATCH_BYTES = 8 * 2 ** 20;
/** Batches that are read ahead. */
const AHEAD_BATCHES = 8;

async function* checkedRows(
  source: Iterable<Values> | AsyncIterable<Values>,
  rows: (values: Values, first: number) => ArrayBufferView,
  shape: StateShape,
): AsyncGenerator<ArrayBufferView> {
  let first = 0;
  for await (const values of source) {
    if (values.length === 0) continue;
    const samples = values.length / shape.length;
    checkBatch(shape, samples, values.length);
    yield rows(values, first);
    first += samples;
  }
}

/** Invalid sums of squares, by sample. A sample that is encoded twice gives the same sum. */
class BadNorms {
  readonly #bad = new Map<bigint, { readonly squares: number; readonly accumulated: WideFloat }>();

  record(shape: StateShape, start: bigint, squares: ArrayLike<number>, accumulated: WideFloat): void {
    for (let at = 0; at < squares.length; at++) {
      const own = squares[at] ?? Number.NaN;
      try {
        checkNorm(shape, own, at, accumulated);
      } catch {
        this.#bad.set(start + BigInt(at), { squares: own, accumulated });
      }
    }
  }

  /** Removes and returns the first bad sample of a piece. */
  takeFirst({ start, count }: Piece) {
    if (this.#bad.size === 0) return undefined;
    const end = start + BigInt(count);
    const [sample] = [...this.#bad.keys()].filter((one) => one >= start && one < end).sort((a, b) => Number(a - b));
    const found = sample === undefined ? undefined : this.#bad.get(sample);
    return found && { sample: sample as bigint, ...found };
  }
}

/** Returns the flow; each device runs the kernels that suit it. */
function encodeFlow(
  { shape, order }: EncodeOptions,
  precision: Precision,
  input: InputSource,
  norms: BadNorms,
  maxSamples: number,
): Flow<Uint8Array> {
  const rowBytes = stateBytes(shape.qubits, precision);
  return {
    name: `encode ${shape.encoding}`,
    open: async (device, options) => {
      const plan = planFor(device.info, shape, { precision, ...(order && { order }) });
      const normBytes = plan.bytes.norms ?? 0;
      await checkMemory(device, plan, maxSamples, (options?.slots ?? 1) * maxSamples * sumOf(plan.bytes));
      return flow<Uint8Array>({
        name: `encode ${shape.encoding}`,
        kernels: plan.kernels,
        buffers: Object.fromEntries(
          Object.entries(plan.bytes).map(([name, bytes]) => [name, paddedBytes(maxSamples, bytes)] as const),
        ),
        host: {
          rows: paddedBytes(maxSamples, rowBytes),
          ...(normBytes > 0 && { norms: paddedBytes(maxSamples, normBytes) }),
        },
        steps: (piece, { rows, norms: squares }) => [
          ...writes(input, piece),
          ...launches(plan, piece.count),
          { do: 'read', buffer: 'states', into: (rows as Uint8Array).subarray(0, piece.count * rowBytes) },
          ...(squares
            ? [{ do: 'read', buffer: 'norms', into: squares.subarray(0, piece.count * normBytes) } as const]
            : []),
        ],
        reap: (piece, { host }) => {
          const { norm } = plan;
          if (norm && host.norms) norms.record(shape, piece.start, realsIn(host.norms, norm, piece.count), norm);
          return (host.rows as Uint8Array).subarray(0, piece.count * rowBytes);
        },
        max: Math.min(maxSamples, plan.maxSamples),
      }).open(device, options);
    },
  };
}

function* writes(input: InputSource, piece: Piece): Generator<FlowStep> {
  let offset = 0;
  for (const data of input.rows(piece)) {
    yield { do: 'write', buffer: 'x', data, offset };
    offset += data.byteLength;
  }
}

const launches = (plan: EncodePlan, samples: number): FlowStep[] =>
  plan.launches.map(({ kernel, tilesPerSample }) => ({
    do: 'launch',
    kernel,
    count: tilesPerSample * samples,
    buffers: Object.fromEntries(
      Object.keys(plan.kernels[kernel]?.signature.buffers ?? {}).map((name) => [name, bindingOf(plan, kernel, name)]),
    ),
  }));

function realsIn({ buffer, byteOffset }: Uint8Array, type: WideFloat, count: number): Float64Array | Float32Array {
  return type === 'f64' ? new Float64Array(buffer, byteOffset, count) : new Float32Array(buffer, byteOffset, count);
}

/** The reference takes milliseconds for these, and seconds for the others. */
const maxCheckedQubits: Readonly<Record<StateShape['encoding'], number>> = {
  amplitude: 16,
  basis: 16,
  angle: 12,
  phase: 12,
  'iqp-z': 12,
  iqp: 8,
};

function verifier(
  { shape, order }: EncodeOptions,
  precision: Precision,
  pace: CheckPacer,
): Verify<TransformedRow> | undefined {
  if (shape.qubits > maxCheckedQubits[shape.encoding]) return undefined;
  const tolerance = precision === 'f64' ? 2e-15 : 1e-6;
  const isRight = ({ input, bytes }: TransformedRow): boolean => {
    const values =
      shape.encoding === 'basis'
        ? new Uint32Array(input.slice().buffer)
        : realsIn(input.slice(), precision, shape.length);
    let expected: Float64Array;
    try {
      expected = referenceStates(shape, 1, values, { precision, ...(order && { order }) });
    } catch {
      return true; // a sample without a norm, which is reported in order
    }
    const actual = realsIn(bytes.slice(), precision, expected.length);
    return expected.every((value, i) => Math.abs(value - (actual[i] ?? Number.NaN)) <= tolerance);
  };
  return (row) => pace.run(() => isRight(row));
}

/** Keeps checks to a fiftieth of the time: one state of 16 qubits takes 2 ms, in which a bus moves a hundred. */
class CheckPacer {
  #nextMs = 0;

  get isDue(): boolean {
    return performance.now() >= this.#nextMs;
  }

  run<T>(act: () => T): T {
    const begun = performance.now();
    const result = act();
    const ended = performance.now();
    this.#nextMs = ended + REST_FACTOR * (ended - begun);
    return result;
  }
}

const REST_FACTOR = 49;
