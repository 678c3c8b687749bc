import type { AtomicOp, BufferDecl } from '../../ir/program.js';
import type { Scalar, Value } from '../../language/types.js';
import type { Fence } from '../../passes/shape/barriers.js';
import type { Syntax } from '../c/c-like.js';
import type { FunctionSyntax } from '../c/functions.js';
import type { Helper, OperationTable } from './forms.js';
import type { GpuLayout } from './layout.js';

/** The differences between CUDA, OpenCL C and WGSL. Shared code is in `gpu.ts`. */
export interface GpuLanguage {
  readonly syntax: Syntax;
  typeName(type: Scalar): string;
  literal(type: Scalar, value: Value): string;
  readonly table: OperationTable;
  helper(name: string, helper: Helper): string;
  readonly memory: MemoryForms;
  readonly entry: EntryForms;
  readonly functions: FunctionSyntax;
  /** How functions declare memory of the launch that they get; absent if they see it anyway. */
  readonly functionContext?: FunctionContext;
  /** Absent if the language has no subgroups whose threads are known. */
  readonly subgroups?: SubgroupForms;
  /** Absent if the language or the device has none. */
  readonly lanes?: LaneForms;
}

export interface FunctionContext {
  readonly status: string;
  readonly cancel: string;
  readonly epoch: string;
  readonly tables: string;
  /**
   * A table in workgroup memory. Absent if functions read `tables` instead: PoCL 3.1 passes a wrong address of workgroup
   * memory to functions.
   */
  nearTable?(type: Scalar, name: string): string;
}

/** Threads that exchange values without memory and barriers. All threads of the workgroup must get there. */
export interface SubgroupForms {
  /** Threads of a subgroup. */
  readonly size: number;
  /** Returns the value of the thread whose number differs in the bit `by`. */
  swapped(value: string, by: number): string;
  /** Returns the value of the thread `by` places before; of no use to the first `by` threads. */
  before(value: string, by: number): string;
}

/**
 * Subgroups of which only the device knows the size, and which threads are in one. Each form is over all lanes of a subgroup,
 * and all threads of the workgroup must get there.
 */
export interface LaneForms {
  sum(value: string): string;
  /** Returns the sum of the lanes before. */
  sumBefore(value: string): string;
  any(condition: string): string;
}

/** Forms of memory access. `at` is text: the number of an element, or of a quad where stated. */
export interface MemoryForms {
  /** The type of an element's number. */
  readonly address: 'u32' | 'u64';
  read(decl: BufferDecl, at: string): string;
  write(decl: BufferDecl, at: string, value: string): string;
  /** Returns lines that read a quad into new constants; undefined if the buffer must be read element by element. */
  readQuad(decl: BufferDecl, quad: string, names: readonly string[]): string[] | undefined;
  writeQuad(decl: BufferDecl, quad: string, values: readonly string[]): string[] | undefined;
  /** Returns an expression whose value is the previous one. `operands` are the value, or for compareExchange two. */
  atomic(op: AtomicOp, decl: BufferDecl, at: string, operands: readonly string[]): string;
  /** Returns the function that such an expression calls; undefined if the language has it. */
  atomicFunction?(op: AtomicOp, decl: BufferDecl): string | undefined;
  prefetch(decl: BufferDecl, quad: string): string[];
  barrier(fence: Fence): string[];
  /** Reads workgroup memory at an address that is the same for all threads, in a form that marks the value as uniform. */
  uniformLoad(place: string): string;
  /** True if, between regions, one thread must read this memory for all. */
  needsBroadcast(decl: BufferDecl): boolean;
  /** True if `uniformLoad` is a barrier for all threads, before and after the read. */
  readonly uniformLoadIsBarrier: boolean;
  /** Checked builds: `checked_index` and `checked_entry`, and the first arguments of their calls. */
  readonly checks: string;
  readonly checkArguments: string;
}

/** The beginning of the entry, and its access to launch values. */
export interface EntryForms {
  /** Returns the first lines of the text: types, extensions. */
  preamble(layout: GpuLayout): string[];
  /** Returns lines outside of the function: bindings and workgroup memory, in languages that declare them there. */
  globals(layout: GpuLayout): string[];
  head(layout: GpuLayout): string;
  /**
   * Returns the first lines inside the function: workgroup memory, in languages that declare it there; `thread`, `group`,
   * `groups`.
   */
  begin(layout: GpuLayout): string[];
  /** Return a word of the launch block, by its number or by the text `at`. */
  word(layout: GpuLayout, index: number): string;
  wordAt(layout: GpuLayout, at: string): string;
  /** Returns a word of the binding `tables`. */
  tableWord(at: string): string;
  /** Returns lines that lower `last` to a count found on the device, or end the entry if there is no work. */
  limitToCount(layout: GpuLayout): string[];
  /**
   * Return lines before the loop over blocks or tiles, and at the start of its rounds, that stop if the launch was
   * cancelled.
   */
  cancelBeforeLoop(layout: GpuLayout): string[];
  cancelInLoop(layout: GpuLayout, every: number): string[];
  /**
   * Lines at the start of each round of an item's long loop. They return from the entry if the launch was cancelled, since
   * code after the loop may rely on the loop's condition. Only for kernels without barriers between items.
   */
  readonly cancelInItem: readonly string[];
}
