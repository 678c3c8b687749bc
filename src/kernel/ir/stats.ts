import { type LowerOptions, lower } from '../abi/lower.js';
import { type GpuOptions, lowerGpu } from '../abi/lower-gpu.js';
import { firstLine, MillraceError } from '../error.js';
import type { Kernel } from '../language/signature.js';
import { isFloat, wordsOf } from '../language/types.js';
import { floatingProgram } from '../passes/floating.js';
import { canInlineAll } from '../passes/shape/inline.js';
import { placeNodes } from '../passes/shape/place-nodes.js';
import { mergeTernaryLogic } from '../passes/shape/ternary.js';
import { type OperationClass, operationClasses, rowOf } from './ops.js';
import { type Block, innerBlocks, type Node, readNodes } from './program.js';

export type OperationCounts = Readonly<Record<OperationClass, number>>;

export interface KernelStats {
  readonly name: string;
  /** Operations done for every item before the first test, and by those items that pass it. Loops count once. */
  readonly always: OperationCounts;
  readonly underTests: OperationCounts;
  /** Parameter words read for every item, and in total. */
  readonly words: { readonly jobAlways: number; readonly job: number; readonly chunk: number };
  /** Nodes evaluated on the host, once per job and once per launch. */
  readonly host: { readonly job: number; readonly chunk: number };
  readonly targets: readonly TargetStats[];
}

export interface TargetStats {
  readonly target: string;
  /** Lanes of a gang, or threads of a workgroup. */
  readonly lanes: number;
  readonly statements: number;
  readonly bytes: number;
  /** The estimated compile time, based on measurements. */
  readonly compileSeconds: number;
  /** Why there is no text. The numbers are then 0. */
  readonly refused?: string;
}

/** Counts a kernel's operations in the program that all targets share. */
export function kernelStats(kernel: Kernel, targets: readonly (LowerOptions | GpuOptions)[] = []): KernelStats {
  const traced = kernel.trace();
  const program = placeNodes(mergeTernaryLogic(floatingProgram(traced, true, !canInlineAll(traced))));
  const always = emptyCounts();
  const underTests = emptyCounts();
  const paramsAlways = new Set<Node>();
  const walk = (block: Block, counts: Record<OperationClass, number>): void => {
    for (const statement of block) {
      if (statement.kind === 'let') counts[classOf(statement.node)]++;
      if (statement.kind === 'load' || statement.kind === 'store' || statement.kind === 'atomic') counts.memory++;
      if (counts === always) for (const node of readNodes(statement)) if (node.op === 'param') paramsAlways.add(node);
      for (const inner of innerBlocks(statement)) walk(inner, statement.kind === 'when' ? underTests : counts);
    }
  };
  walk(program.body, always);
  const jobAlways = [...paramsAlways]
    .filter((node) => (node.detail.word ?? 0) < program.jobWords)
    .reduce((words, node) => words + wordsOf(node.type), 0);
  const hostNodes = program.host.filter((node) => node.args.length > 0);
  return {
    name: kernel.name,
    always,
    underTests,
    words: { jobAlways, job: program.jobWords, chunk: program.chunkWords },
    host: {
      job: hostNodes.filter((node) => node.stage <= 1).length,
      chunk: hostNodes.filter((node) => node.stage > 1).length,
    },
    targets: targets.map((options) => targetStats(kernel, options)),
  };
}

function targetStats(kernel: Kernel, options: LowerOptions | GpuOptions): TargetStats {
  try {
    const { statements, text, lanes } = 'lanes' in options ? lower(kernel, options) : lowerGpu(kernel, options);
    const compileSeconds = Math.round(compileMs[options.target](statements, lanes)) / 1000;
    return { target: options.target, lanes, statements, bytes: text.length, compileSeconds };
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    return { target: options.target, lanes: 0, statements: 0, bytes: 0, compileSeconds: 0, refused: firstLine(error) };
  }
}

/**
 * Milliseconds that compilers take: GCC about one per statement and more with lanes, wabt 90 for 3,000, NVRTC 600 for 900.
 * PoCL and SwiftShader, which stand in for OpenCL and WGSL without a GPU, take 4 to 5 s for 900.
 */
const compileMs: Readonly<
  Record<(LowerOptions | GpuOptions)['target'], (statements: number, lanes: number) => number>
> = {
  c: (statements, lanes) => statements * (1 + Math.log2(lanes) / 4) * 1.2,
  wat: (statements) => 20 + statements * 0.03,
  cuda: (statements) => statements * 0.7,
  opencl: (statements) => statements * 5,
  wgsl: (statements) => statements * 4,
};

function classOf(node: Node): OperationClass {
  const type = node.args[0]?.type;
  if (type && isFloat(type) && node.op !== 'bits') return 'floats';
  return rowOf(node.op)?.class ?? 'other';
}

const emptyCounts = (): Record<OperationClass, number> =>
  Object.fromEntries(operationClasses.map((name) => [name, 0])) as Record<OperationClass, number>;
