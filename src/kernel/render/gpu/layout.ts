import {
  type GridBinding,
  type GridShape,
  LAUNCH_HEADER_WORDS,
  MAX_VALUE_WORDS,
  OPENCL_ARGUMENT_BYTES,
} from '../../abi/grid.js';
import { MillraceError } from '../../error.js';
import {
  type Block,
  type HoistedProgram,
  innerBlocks,
  type Statement,
  SUM_PARTIALS,
  type TableDecl,
} from '../../ir/program.js';
import { bytesOf, type Scalar, toWords, type Value, wordsOf } from '../../language/types.js';
import { bufferName, tableName } from '../names.js';

export type GpuTarget = 'cuda' | 'opencl' | 'wgsl';

export interface LayoutOptions {
  readonly target: GpuTarget;
  readonly workgroup: number;
  /** Workgroup memory that the device has. */
  readonly nearLimit: number;
  readonly checked: boolean;
  readonly compilerOptions: readonly string[];
  /** Types of the values that one thread must read for all. */
  readonly broadcastTypes: readonly Scalar[];
}

/** The placement of a program on a GPU: the shape that devices see, and data for the printer only. */
export interface GpuLayout {
  readonly shape: GridShape;
  readonly program: HoistedProgram;
  readonly checked: boolean;
  /** Arrays of workgroup memory, by name. */
  readonly near: readonly NearArray[];
  /** The position of each table's words, and whether workgroups keep a copy in workgroup memory. */
  readonly tables: ReadonlyMap<TableDecl, TablePlace>;
}

export interface NearArray {
  readonly name: string;
  readonly type: Scalar;
  readonly length: number;
}

export interface TablePlace {
  readonly near: boolean;
  readonly from: 'tables' | 'launch';
  readonly word: number;
}

/** The maximum of static workgroup memory in CUDA's text; more is requested at launch. */
const STATIC_NEAR_BYTES = 48 * 1024;

export const partialsName = (type: Scalar): string => `partials_${type}`;
export const broadcastName = (type: Scalar): string => `spread_${type}`;
export const TOTALS_NAME = 'totals';

export function layoutOf(program: HoistedProgram, options: LayoutOptions): GpuLayout {
  const { workgroup, target, checked } = options;
  const near: NearArray[] = [
    ...program.near.map((decl) => ({ name: bufferName(decl), type: decl.type, length: decl.length ?? 0 })),
    ...sumTypes(program.body).map((type) => ({ name: partialsName(type), type, length: SUM_PARTIALS })),
    ...(hasScan(program.body) ? [{ name: TOTALS_NAME, type: 'u32' as const, length: workgroup }] : []),
    ...options.broadcastTypes.map((type) => ({ name: broadcastName(type), type, length: 1 })),
  ];
  const needed = sizeOf(near);
  if (needed > options.nearLimit) throw tooMuchNear(program, needed, options.nearLimit);

  // Tables are copied to workgroup memory, in their order, if they fit.
  const buffers = program.buffers.filter((decl) => decl.name !== 'ring' || program.hit.length > 0);
  const parametersAt = LAUNCH_HEADER_WORDS + 2 * buffers.length;
  const constants: number[] = [];
  const tables = new Map<TableDecl, TablePlace>();
  for (const table of program.tables) {
    const copy = { name: tableName(table), type: table.type, length: table.values.length };
    const fits = sizeOf([...near, copy]) <= options.nearLimit;
    if (fits) near.push(copy);
    if (table.word !== undefined) tables.set(table, { near: fits, from: 'launch', word: parametersAt + table.word });
    else {
      tables.set(table, { near: fits, from: 'tables', word: constants.length });
      constants.push(...table.values.flatMap(({ detail }) => toWords(table.type, detail.value as Value)));
    }
  }
  const parameterWords = program.jobWords + program.chunkWords;
  const launchWords = 4 * Math.ceil((parametersAt + parameterWords) / 4);
  const jobTables = [...tables.values()].filter(({ from }) => from === 'launch');
  const bindings: GridBinding[] = [
    { name: 'launch', kind: 'launch' },
    ...(target === 'wgsl' ? [] : [{ name: 'counted', kind: 'counted' } as const]),
    { name: 'cancel', kind: 'cancel' },
    { name: 'status', kind: 'status' },
    ...(constants.length > 0 ? [{ name: 'tables', kind: 'tables' } as const] : []),
    ...buffers.map(
      ({ name, kind, slot, type }): GridBinding => ({
        name,
        kind: kind as Exclude<typeof kind, 'near' | 'array'>,
        slot,
        type,
      }),
    ),
  ];
  // OpenCL's compilers copy a struct that is indexed by a variable to each thread's own memory.
  const byValue =
    target === 'opencl'
      ? 4 * launchWords + 8 * (bindings.length - 1) <= OPENCL_ARGUMENT_BYTES && jobTables.length === 0
      : parameterWords <= MAX_VALUE_WORDS && jobTables.every((place) => place.near);
  const nearBytes = sizeOf(near);
  const shape: GridShape = {
    entry: 'millrace_range',
    workgroup,
    itemsPerGroup: program.kind === 'items' ? workgroup : 1,
    nearBytes,
    dynamicBytes: target === 'cuda' && nearBytes > STATIC_NEAR_BYTES ? nearBytes : 0,
    bindings,
    launch: {
      words: launchWords,
      sizesAt: LAUNCH_HEADER_WORDS,
      parametersAt,
      byValue,
    },
    tables: Uint32Array.from(constants),
    compilerOptions: options.compilerOptions,
  };
  return { shape, program, checked, near, tables };
}

/** Returns the bytes of consecutive arrays, each aligned to 16 bytes. */
export function sizeOf(arrays: readonly NearArray[]): number {
  return arrays.reduce((sum, { type, length }) => sum + 16 * Math.ceil((length * bytesOf[type]) / 16), 0);
}

/** Returns a value of `type` made of the words that `word` returns, low word first. */
export function valueOfWords(
  type: Scalar,
  word: (k: number) => string,
  apply: (key: string, args: readonly string[]) => string,
): string {
  const two = () => apply('pack_u32', [word(0), word(1)]);
  switch (type) {
    case 'u32':
      return word(0);
    case 'bool':
      return apply('ne_u32', [word(0), '0u']);
    case 'i32':
    case 'f32':
      return apply(`bits_u32_${type}`, [word(0)]);
    case 'u64':
      return two();
    case 'f64':
      return apply('bits_u64_f64', [`(${two()})`]);
  }
}

/** Returns the number of words before entry `index` of a table or array of that type. */
export const wordIndex = (type: Scalar, index: string): string =>
  wordsOf(type) === 1 ? index : `${index} * ${wordsOf(type)}u`;

export function forEachStatement(block: Block, visit: (statement: Statement) => void): void {
  for (const statement of block) {
    visit(statement);
    for (const inner of innerBlocks(statement)) forEachStatement(inner, visit);
  }
}

function sumTypes(body: Block): Scalar[] {
  const types = new Set<Scalar>();
  forEachStatement(body, (statement) => {
    if (statement.kind === 'sum') types.add(statement.result.type);
  });
  return [...types];
}

const hasScan = (body: Block): boolean => hasStatement(body, ({ kind }) => kind === 'scan');

/** True if a loop of the program checks for cancellation before each round. */
export const hasLongLoop = (body: Block): boolean =>
  hasStatement(
    body,
    (statement) => (statement.kind === 'while' || statement.kind === 'loop') && statement.isLong === true,
  );

export function hasStatement(body: Block, matches: (statement: Statement) => boolean): boolean {
  let found = false;
  forEachStatement(body, (statement) => {
    found ||= matches(statement);
  });
  return found;
}

function tooMuchNear(program: HoistedProgram, needed: number, limit: number): MillraceError {
  const own = program.near.map(({ name, type, length }) => `${name} ${length} × ${type}`);
  return new MillraceError({
    code: 'kernel-budget',
    message: `kernel ${program.name} needs ${needed} bytes of workgroup memory, the device has ${limit}`,
    asked: `near arrays ${own.join(', ') || '(none)'}; sums and scans need the rest`,
    advice: 'make the near arrays smaller, by a spec value of the kernel, or use a device with more',
  });
}
