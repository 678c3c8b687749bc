import type { AtomicOp, BufferDecl } from '../../ir/program.js';
import type { Scalar, Value } from '../../language/types.js';
import type { Fence } from '../../passes/shape/barriers.js';
import type { Syntax } from '../c/cstyle.js';
import type { Helper, OperationTable } from './forms.js';
import type { GpuLayout } from './layout.js';

/** What differs between CUDA, OpenCL C and WGSL. What they share is in `gpu.ts`. */
export interface GpuLanguage {
  readonly syntax: Syntax;
  typeName(type: Scalar): string;
  literal(type: Scalar, value: Value): string;
  readonly table: OperationTable;
  helper(name: string, helper: Helper): string;
  /** Do native bodies of std functions stand in this language? */
  readonly nativeBodies: boolean;
  readonly memory: MemoryForms;
  readonly entry: EntryForms;
}

/** How memory is reached. `at` is text: the number of an element, or of a quad where it says so. */
export interface MemoryForms {
  /** The type of an element's number. */
  readonly address: 'u32' | 'u64';
  read(decl: BufferDecl, at: string): string;
  write(decl: BufferDecl, at: string, value: string): string;
  /** Lines that read a quad into new constants; undefined where the buffer is to be read element by element. */
  readQuad(decl: BufferDecl, quad: string, names: readonly string[]): string[] | undefined;
  writeQuad(decl: BufferDecl, quad: string, values: readonly string[]): string[] | undefined;
  /** An expression; the value is the one before. */
  atomic(op: AtomicOp, decl: BufferDecl, at: string, value: string): string;
  prefetch(decl: BufferDecl, quad: string): string[];
  barrier(fence: Fence): string[];
  /** Reads workgroup memory where all threads read the same: languages that must be told so can be. */
  sameForAll(place: string): string;
  /** Between regions: must one thread read this for all? */
  spreads(decl: BufferDecl): boolean;
  /** Does `sameForAll` wait for everybody, before and after? */
  readonly sameForAllWaits: boolean;
  /** Checked builds: `checked_index` and `checked_entry`, and what their calls begin with. */
  readonly checks: string;
  readonly checkArguments: string;
}

/** How the entry begins, and how it reads what it was launched with. */
export interface EntryForms {
  /** Lines before everything: types, extensions. */
  preamble(layout: GpuLayout): string[];
  /** Lines outside of the function: bindings and workgroup memory, where they stand there. */
  globals(layout: GpuLayout): string[];
  head(layout: GpuLayout): string;
  /** First lines inside: workgroup memory, where it stands there; `thread`, `group`, `groups`. */
  begin(layout: GpuLayout): string[];
  /** A word of the launch block, by its number; `at` by text. */
  word(layout: GpuLayout, index: number): string;
  wordAt(layout: GpuLayout, at: string): string;
  /** A word of the binding `tables`. */
  tableWord(at: string): string;
  /** Lines that lower `last` to a count found on the device, or end the entry where there is nothing to do. */
  counted(layout: GpuLayout): string[];
  /** Lines before the loop over blocks or tiles, and at its beginning, that stop when the launch is cancelled. */
  cancelBefore(layout: GpuLayout): string[];
  cancelWithin(layout: GpuLayout, every: number): string[];
  /**
   * Lines at the start of each round of an item's long loop. They return from the entry if the launch was cancelled: what
   * follows the loop in the item may rely on the loop's condition. Only for kernels without barriers between items.
   */
  readonly cancelInside: readonly string[];
}
