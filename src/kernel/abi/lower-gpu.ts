import { MillraceError } from '../error.js';
import type { HoistedProgram, Node, Statement } from '../ir/program.js';
import type { Kernel } from '../language/signature.js';
import { NARROW_KEY, ROLLED_KEY } from '../language/std-function.js';
import type { Scalar } from '../language/types.js';
import { balancePipes, type FactorSource, type PipeShares } from '../passes/arithmetic/balance-pipes.js';
import { splitU64 } from '../passes/arithmetic/split-u64.js';
import { cachedFloatingProgram } from '../passes/floating.js';
import { rootsOf, topologicalOrder } from '../passes/graph.js';
import { boundArrays } from '../passes/shape/bound-arrays.js';
import { makeLoopsLong, withLongLoops } from '../passes/shape/long-loops.js';
import { estimatePipeShares } from '../passes/shape/pipe-shares.js';
import { placeNodes } from '../passes/shape/place-nodes.js';
import { mergeTernaryLogic } from '../passes/shape/ternary.js';
import { cudaLanguage, cudaOptions } from '../render/gpu/cuda.js';
import { QUEUE_NEAR_BYTES, renderCudaQueue } from '../render/gpu/cuda-queue.js';
import { renderGpu } from '../render/gpu/gpu.js';
import type { GpuLanguage } from '../render/gpu/language.js';
import { forEachStatement, type GpuTarget, layoutOf } from '../render/gpu/layout.js';
import { openclLanguage, openclOptions } from '../render/gpu/opencl.js';
import { wgslLanguage } from '../render/gpu/wgsl.js';
import type { GridShape } from './grid.js';
import type { LoweredKernel } from './lower.js';
import { QUEUE_ENTRY_POINT } from './resident-abi.js';

export type { GpuTarget } from '../render/gpu/layout.js';

export interface GpuOptions {
  readonly target: GpuTarget;
  /** Threads of a workgroup: a power of two up to 1024. */
  readonly workgroup?: number;
  /** Bytes of workgroup memory that the device has. */
  readonly nearLimit?: number;
  readonly hoist?: boolean;
  readonly checked?: boolean;
  readonly nativeBodies?: boolean;
  /**
   * The work that goes to the multiply-add pipe: a share of the additions, 0 to 1; separate shares; or the estimated best
   * for NVIDIA.
   */
  readonly pipes?: number | PipeShares | 'nvidia';
  /** OpenCL: true if the compiler accepts inline PTX, as NVIDIA's does. */
  readonly inlinePtx?: boolean;
  /** True if the device has WebGPU's subgroups: sums of integers and scans use them. CUDA has them always. */
  readonly subgroups?: boolean;
  /** The code around the kernel: `range`, or on CUDA `queue`. */
  readonly harness?: 'range' | 'queue';
}

export interface LoweredGpuKernel extends LoweredKernel {
  readonly shape: GridShape;
}

interface TargetTraits {
  readonly nearLimit: number;
  /** The maximum number of statements: the compile time of PoCL and SwiftShader grows with the square. */
  readonly maxStatements: number;
  readonly nativeKeys: readonly string[];
  readonly factor: FactorSource;
  readonly compilerOptions: readonly string[];
  language(program: HoistedProgram, forms: LanguageForms): GpuLanguage;
}

interface LanguageForms {
  readonly checked: boolean;
  readonly workgroup: number;
  readonly subgroups: boolean;
  readonly inlinePtx: boolean;
}

/** Defaults per target if the device reports nothing: minimum limits that every device of its kind has. */
const targets: Readonly<Record<GpuTarget, TargetTraits>> = {
  cuda: {
    nearLimit: 48 * 1024,
    maxStatements: Number.POSITIVE_INFINITY,
    nativeKeys: ['cuda'],
    factor: 'computed',
    compilerOptions: cudaOptions,
    language: cudaLanguage,
  },
  opencl: {
    nearLimit: 32 * 1024,
    maxStatements: 5000,
    nativeKeys: [],
    factor: 'computed',
    compilerOptions: openclOptions,
    language: (program, { workgroup, inlinePtx }) => {
      const usesWideAtomics = program.buffers.some(({ kind, type }) => kind === 'atomic' && type === 'u64');
      return openclLanguage({ usesDoubles: usesType(program, 'f64'), usesWideAtomics, inlinePtx }, workgroup);
    },
  },
  wgsl: {
    nearLimit: 16 * 1024,
    maxStatements: 5000,
    nativeKeys: [NARROW_KEY],
    factor: 'loaded',
    compilerOptions: [],
    language: (program, { checked, subgroups }) => wgslLanguage(program, checked, subgroups),
  },
};

export const DEFAULT_WORKGROUP = 256;
/** How kernels are lowered for CUDA devices: two warps for each of a multiprocessor's four schedulers. */
export const cudaLowering = { target: 'cuda', workgroup: 256, pipes: 'nvidia' } as const;
const defaults = {
  workgroup: DEFAULT_WORKGROUP,
  hoist: true,
  checked: false,
  nativeBodies: true,
  pipes: 0,
  inlinePtx: false,
  harness: 'range',
} as const;
const MAX_THREADS = 1024;

/** Lowers a kernel to text for a GPU: traces, runs the passes, lays out memory, prints. */
export function lowerGpu(kernel: Kernel, options: GpuOptions): LoweredGpuKernel {
  const ready = loweredAhead.get(kernel);
  return ready && ready.optionsKey === keyOfOptions(options) ? ready.lowered : lowerUncached(kernel, options);
}

/**
 * Lowers a kernel in advance, while this thread waits for a device to open. A later call of `lowerGpu` with the same options
 * returns the result. The device's amount of workgroup memory is not known yet, so that only kernels that need none of it
 * are kept.
 */
export function lowerAhead(kernel: Kernel, options: GpuOptions): void {
  const optionsKey = keyOfOptions(options);
  if (loweredAhead.get(kernel)?.optionsKey === optionsKey) return;
  const result = lowerUncached(kernel, options);
  if (result.shape.nearBytes === 0 && result.program.tables.length === 0)
    loweredAhead.set(kernel, { optionsKey, lowered: result });
}

const loweredAhead = new WeakMap<Kernel, { readonly optionsKey: string; readonly lowered: LoweredGpuKernel }>();

/** Returns a key of all options that the text depends on, except those for kernels with workgroup memory. */
function keyOfOptions({ nearLimit: _, subgroups: __, ...options }: GpuOptions): string {
  const {
    target,
    workgroup,
    hoist,
    checked,
    nativeBodies,
    pipes: shares,
    inlinePtx,
    harness,
  } = { ...defaults, ...options };
  return JSON.stringify([target, workgroup, hoist, checked, nativeBodies, shares, inlinePtx, harness]);
}

/** `isRolled`: std functions are loops where they can be, after the kernel was too long without. */
function lowerUncached(kernel: Kernel, options: GpuOptions, isRolled = false): LoweredGpuKernel {
  const { workgroup, hoist, nativeBodies, pipes: shares, inlinePtx, harness, ...rest } = { ...defaults, ...options };
  const checked = rest.checked || kernel.untrusted !== undefined;
  const target = targets[options.target];
  checkWorkgroup(kernel.name, workgroup);
  const isQueue = harness === 'queue';
  if (isQueue && (options.target !== 'cuda' || checked)) throw queueUnsupported(kernel.name, options);
  const ptxKeys = inlinePtx && options.target === 'opencl' ? ['opencl-ptx'] : [];
  const keys = [...(nativeBodies ? [...target.nativeKeys, ...ptxKeys] : []), ...(isRolled ? [ROLLED_KEY] : [])];
  const { program: floating } = cachedFloatingProgram(kernel, new Set(keys), hoist);
  const hoisted = kernel.untrusted ? makeLoopsLong(floating) : checked ? withLongLoops(floating) : floating;
  if (options.target === 'wgsl' && usesType(hoisted, 'f64')) throw noDoubles(kernel.name);
  // The host computes parameters and has 64-bit integers: `splitU64` changes the body alone.
  const program = balancePipes(hoisted, shares === 'nvidia' ? estimatePipeShares(hoisted) : shares, target.factor);
  const bounded = checked ? program : boundArrays(program);
  const isNvidia = options.target === 'cuda' || ptxKeys.length > 0;
  const merged = isNvidia ? mergeTernaryLogic(bounded, 'complements') : bounded;
  const placed = placeNodes(options.target === 'wgsl' ? splitU64(merged, checked) : merged);
  const forms = { checked, workgroup, subgroups: options.subgroups ?? false, inlinePtx };
  const language = target.language(placed, forms);
  const layout = layoutOf(placed, {
    target: options.target,
    workgroup,
    nearLimit: (options.nearLimit ?? target.nearLimit) - (isQueue ? QUEUE_NEAR_BYTES : 0),
    checked,
    compilerOptions: target.compilerOptions,
    broadcastTypes: broadcastTypes(placed, language),
  });
  const text = isQueue ? renderCudaQueue(layout, language) : renderGpu(layout, language);
  if (text.statements > target.maxStatements) {
    if (!isRolled) return lowerUncached(kernel, options, true);
    throw tooLong(kernel.name, options.target, text.statements, target.maxStatements);
  }
  const shape = isQueue ? { ...layout.shape, entry: QUEUE_ENTRY_POINT } : layout.shape;
  return { program, lanes: workgroup, shape, ...text };
}

/** Returns the types of the values that one thread reads for all threads, between regions. */
function broadcastTypes({ kind, body }: HoistedProgram, language: GpuLanguage): Scalar[] {
  const types = new Set<Scalar>();
  const walk = (block: readonly Statement[]): void => {
    for (const statement of block) {
      if (statement.kind === 'load' && language.memory.needsBroadcast(statement.place.buffer))
        types.add(statement.place.buffer.type);
      if (statement.kind === 'atomic' && statement.op === 'load') types.add(statement.place.buffer.type);
      if (statement.kind === 'when') [statement.body, statement.otherwise].forEach(walk);
      if (statement.kind === 'loop') walk(statement.body);
      if (statement.kind === 'while') [statement.test, statement.body].forEach(walk);
    }
  };
  if (kind === 'tiles') walk(body);
  return [...types];
}

/** True if the program uses values of this type. */
function usesType({ body, buffers, near }: HoistedProgram, type: Scalar): boolean {
  let found = [...buffers, ...near].some((decl) => decl.type === type);
  const visitNodes = (nodes: readonly Node[]) => {
    found ||= nodes.some((node) => node.type === type);
  };
  visitNodes(topologicalOrder(rootsOf(body)));
  forEachStatement(body, (statement) => {
    if (statement.kind === 'cell') found ||= statement.cell.type === type;
    if (statement.kind === 'array') found ||= statement.array.type === type;
    if (statement.kind === 'native') visitNodes(statement.results);
  });
  return found;
}

function checkWorkgroup(kernel: string, threads: number): void {
  if (threads >= 1 && threads <= MAX_THREADS && Number.isInteger(Math.log2(threads))) return;
  throw new MillraceError({
    code: 'kernel-budget',
    message: `kernel ${kernel}: a workgroup cannot have ${threads} threads`,
    asked: `workgroup ${threads}`,
    advice: `give a power of two from 1 to ${MAX_THREADS}`,
  });
}

function queueUnsupported(kernel: string, { target, checked }: GpuOptions): MillraceError {
  return new MillraceError({
    code: 'device-capability',
    message: `kernel ${kernel}: the queue harness does not support ${checked ? 'checked builds' : target}`,
    asked: `kernel ${kernel} as ${target}, harness queue`,
    advice: 'use the range harness',
  });
}

function noDoubles(kernel: string): MillraceError {
  return new MillraceError({
    code: 'device-capability',
    message: `kernel ${kernel} uses f64, which WGSL does not have`,
    asked: `kernel ${kernel} as wgsl`,
    advice: 'use its f32 variant, or another device',
  });
}

function tooLong(kernel: string, target: GpuTarget, statements: number, limit: number): MillraceError {
  return new MillraceError({
    code: 'kernel-budget',
    message: `kernel ${kernel} has ${statements} statements as ${target}, the limit is ${limit}`,
    asked: `kernel ${kernel} as ${target}`,
    advice: 'trace it with a rolled variant: loop() instead of for, chosen by a spec value of the kernel',
  });
}
