import type { DeviceInfo } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Kernel, WideFloat } from '../../../kernel/index.js';
import { MAX_SUMS, pieceNorms, piecesOfSample, scaledPieces, totalNorms, wholeAmplitude } from './amplitude.js';
import { type Precision, type QubitOrder, realBytes, type StateShape, stateBytes } from './encoding.js';
import { hadamardPass, type IqpSpec, iqpPhases, nearBytesOf, passesOf } from './iqp.js';
import { pieceBitsFor, piecesOfState } from './kernel.js';
import { basisState, productState } from './product.js';

/** How states of one shape are made on a device: consecutive kernels and their buffers. */
export interface EncodePlan {
  readonly shape: StateShape;
  readonly precision: Precision;
  /** Names the chosen kernels, for reports. */
  readonly path: string;
  /** The type of the norms' sums; undefined if there are no norms. */
  readonly norm: WideFloat | undefined;
  readonly kernels: Readonly<Record<string, Kernel>>;
  readonly launches: readonly PlannedLaunch[];
  /** Bytes of each buffer for each sample. */
  readonly bytes: Readonly<Record<string, number>>;
  /** Most samples of one launch: kernels count values and quads in 32 bits. */
  readonly maxSamples: number;
}

export interface PlannedLaunch {
  readonly kernel: string;
  readonly tilesPerSample: number;
}

export interface PlanOptions {
  readonly precision: Precision;
  readonly order?: QubitOrder;
  /** True if several tiles share a sample. Default: true on GPUs. Results are the same. */
  readonly shared?: boolean;
  /** Selects the kernels for this processor on any device, so that tests run those of GPUs. */
  readonly as?: DeviceInfo['processor'];
  /** log2 of the amplitudes per workgroup; for measurements. */
  readonly pieceBits?: number;
}

/** Returns the plan. Buffers have the kernels' names: `x` is the input, `norms` are the sums of squares. */
export function planFor(info: DeviceInfo, shape: StateShape, options: PlanOptions): EncodePlan {
  const { precision, order = 'little' } = options;
  const hasDouble = info.capabilities.includes('f64');
  if (precision === 'f64' && !hasDouble) throw noDoubles(info, shape);
  const { encoding, qubits, length } = shape;
  const { as = info.processor, pieceBits = pieceBitsFor(as) } = options;
  const store = as === 'gpu' ? 'quads' : 'floats';
  const spec = { qubits, real: precision, wide: hasDouble ? 'f64' : 'f32', order, store, pieceBits } as const;
  const states = stateBytes(qubits, precision);
  const inputBytes = encoding === 'basis' ? 4 : length * realBytes(precision);
  const common = {
    shape,
    precision,
    norm: undefined,
    bytes: { x: inputBytes, states },
    maxSamples: maxSamplesFor(states / (store === 'quads' ? 16 : realBytes(precision)), length),
  };
  const pieces = piecesOfState(qubits, pieceBits);
  switch (encoding) {
    case 'amplitude': {
      const shared = options.shared ?? as === 'gpu';
      return { ...common, ...amplitudePlan({ ...spec, length }, shared, common.bytes) };
    }
    case 'basis':
      return { ...common, path: 'basis', ...inSequence({ basis: [basisState(spec), pieces] }) };
    case 'iqp':
      return { ...common, ...iqpPlan({ ...spec, tileBits: tileBitsFor(info, qubits, precision) }) };
    case 'angle':
    case 'phase':
    case 'iqp-z':
      return {
        ...common,
        path: 'product of two tables',
        ...inSequence({ [encoding]: [productState(encoding, spec), pieces] }),
      };
  }
}

/** Returns the most samples whose values and stored elements can be counted in 32 bits. */
const maxSamplesFor = (stored: number, length: number): number =>
  Math.max(1, Math.floor(2 ** 32 / Math.max(stored, length)) - 1);

type KernelSequence = Readonly<Record<string, readonly [kernel: unknown, tilesPerSample: number]>>;

/** Kernels that run one after the other. */
function inSequence(stages: KernelSequence): Pick<EncodePlan, 'kernels' | 'launches'> {
  const entries = Object.entries(stages);
  return {
    kernels: Object.fromEntries(entries.map(([name, [kernel]]) => [name, kernel as Kernel])),
    launches: entries.map(([kernel, [, tilesPerSample]]) => ({ kernel, tilesPerSample })),
  };
}

function amplitudePlan(
  spec: Parameters<typeof wholeAmplitude>[0],
  shared: boolean,
  common: Readonly<Record<string, number>>,
): Pick<EncodePlan, 'path' | 'norm' | 'kernels' | 'launches' | 'bytes'> {
  const sums = piecesOfSample(spec.length);
  const norm = spec.wide;
  const bytes = { ...common, norms: realBytes(norm) };
  if (sums === 1 || (!shared && sums <= MAX_SUMS)) {
    return { path: 'amplitude, a tile a sample', norm, bytes, ...inSequence({ amplitude: [wholeAmplitude(spec), 1] }) };
  }
  const pieces = piecesOfState(spec.qubits, spec.pieceBits);
  const partial = { ...bytes, sums: sums * realBytes(norm) };
  if (sums <= MAX_SUMS) {
    const stages = { norms: [pieceNorms(spec), sums], scale: [scaledPieces(spec, sums), pieces] } as const;
    return { path: 'amplitude, norms and scale', norm, bytes: partial, ...inSequence(stages) };
  }
  const stages = {
    norms: [pieceNorms(spec), sums],
    total: [totalNorms(spec), 1],
    scale: [scaledPieces(spec, 1), pieces],
  } as const;
  return {
    path: 'amplitude, norms, total and scale',
    norm,
    bytes: { ...partial, totals: realBytes(norm) },
    ...inSequence(stages),
  };
}

function iqpPlan(spec: IqpSpec): Pick<EncodePlan, 'path' | 'kernels' | 'launches'> {
  const [first, ...later] = passesOf(spec);
  const stages: Record<string, readonly [unknown, number]> = {
    iqp: [iqpPhases(spec), 2 ** (spec.qubits - (first?.bits ?? 0))],
  };
  for (const pass of later) {
    const columns = Math.min(pass.from, spec.tileBits - pass.bits);
    stages[`hadamard-${pass.from}`] = [hadamardPass(spec, pass), 2 ** (spec.qubits - pass.bits - columns)];
  }
  return { path: `iqp, Hadamard in ${later.length + 1} passes`, ...inSequence(stages) };
}

/** Returns as many bits as fit in workgroup memory, up to 11 in f64 and 10 in f32: more would allow fewer workgroups. */
function tileBitsFor({ limits }: DeviceInfo, qubits: number, precision: Precision): number {
  const capacity = limits.nearBytes ?? Number.POSITIVE_INFINITY;
  let bits = precision === 'f64' ? 11 : 10;
  while (bits > 4 && nearBytesOf(qubits, precision, bits) > capacity) bits -= 1;
  return bits;
}

/** Returns the plan's buffer for a kernel's buffer: of the same name, but `scale` reads totals as its sums. */
export function bindingOf(plan: EncodePlan, kernel: string, binding: string): string {
  return kernel === 'scale' && binding === 'sums' && plan.bytes.totals !== undefined ? 'totals' : binding;
}

function noDoubles({ id, kind }: DeviceInfo, { encoding, qubits }: StateShape): MillraceError {
  return new MillraceError({
    code: 'device-capability',
    message: `${id} has no 64-bit floats${kind === 'webgpu' ? ': WGSL has none' : ''}`,
    asked: `${encoding} of ${qubits} qubits in f64`,
    advice: 'use f32, or another device: cuda, opencl or cpu',
  });
}
