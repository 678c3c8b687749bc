import { CANCEL_CHECK_INTERVAL } from '../../abi/harness.js';
import { type BufferDecl, type HoistedProgram, SUM_PARTIALS } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { bytesOf, type Scalar } from '../../language/types.js';
import type { Gang } from '../../passes/shape/gang.js';
import { bufferName, lengthName } from '../names.js';
import { WatBody } from './body.js';
import { CANCELLED, WatFunctions } from './functions.js';
import { calledIn, helperText } from './helpers.js';
import { WatMemory } from './memory.js';
import { laneLoop, PARTIALS } from './regions.js';
import { get, wasmType } from './scalar-forms.js';
import { constantTables } from './tables.js';
import { splatText } from './values.js';

export interface WatText {
  readonly text: string;
  readonly lineOrigins: readonly (Origin | undefined)[];
  readonly statements: number;
  /** Checked builds: the accesses that can trap, by trap number. */
  readonly sites: readonly Origin[];
  /** Bytes of constants that the module writes to the address imported as `constants`. */
  readonly constantBytes: number;
  /** Bytes of private memory of each thread, at the address imported as `near`. */
  readonly threadBytes: number;
}

/**
 * Prints a Wasm module as text: scalars with one lane, v128 registers with more (a multiple of four lanes).
 *
 * `run` processes items [begin, end) of a launch and returns their number: fewer if the launch was cancelled or trapped. The
 * launch block is the same as C's: 64-bit words, of which addresses use the lower half. launch[0] holds parameters, [1]
 * control words (cancel epoch; trap flag, its site, index and length), [2] this launch's epoch, then address and size in
 * bytes of each binding.
 */
export function renderWat(gang: Gang, { checked }: { readonly checked: boolean }): WatText {
  const { program } = gang;
  const tables = constantTables(program.tables);
  const shared = { sites: [] as Origin[], preludes: new Set<string>() };
  const arraysOf = new Map<WatBody, WatMemory['arrays']['sizes']>();
  const effects = (text: WatBody): WatMemory => {
    const memory = new WatMemory(text, checked, tables.at, shared);
    arraysOf.set(text, memory.arrays.sizes);
    return memory;
  };
  const functions = new WatFunctions(gang, checked);
  const own = functions.print(gang, effects);
  const body = new WatBody(gang, effects, functions);
  printItems(body, program, checked);
  const bodies = [body, ...own.map((one) => one.body)];
  const memory = new ThreadMemory();
  const near = nearArrays(body, program, checked, memory);
  const setups = new Map(bodies.map((one) => [one, memory.arrays(one, arraysOf.get(one) ?? new Map())]));
  const setup = [...prologue(body, program, checked), ...near, ...(setups.get(body) ?? [])];
  const printed = own.map(({ body: text, head, origin, params }) => {
    const variables = new Map([...text.locals].filter(([name]) => !params.has(name)));
    const begin = [head, ...declarations(variables), ...constants(text), ...(setups.get(text) ?? [])];
    return { lines: [...begin, ...text.lines, ')'], origins: [...begin.map(() => origin), ...text.origins, origin] };
  });
  const preludes = [...shared.preludes];
  const head = [
    `;; kernel ${program.name}, ${gang.lanes} lane${gang.lanes === 1 ? '' : 's'}`,
    '(module',
    '(import "millrace" "memory" (memory 1 65536 shared))',
    '(import "millrace" "constants" (global $constants i32))',
    '(import "millrace" "near" (global $near i32))',
    ...(tables.bytes > 0 ? [`(data (global.get $constants) "${tables.text}")`] : []),
    ...helperFunctions(
      bodies.flatMap(({ called }) => [...called]),
      preludes,
    ),
  ];
  const ownFunctions = printed.flatMap(({ lines }) => lines);
  const run = [
    '(func (export "run") (param $launch i32) (param $begin i64) (param $end i64) (result i64)',
    ...declarations(body.locals),
    ...setup,
  ];
  const tail = ['(i64.sub (local.get $end) (local.get $begin))))'];
  return {
    text: `${[...head, ...ownFunctions, ...run, ...body.lines, ...tail].join('\n')}\n`,
    lineOrigins: [
      ...head.map(() => undefined),
      ...printed.flatMap(({ origins }) => origins),
      ...run.map(() => undefined),
      ...body.origins,
    ],
    statements: bodies.reduce((sum, { statements }) => sum + statements, 0),
    sites: shared.sites,
    constantBytes: tables.bytes,
    threadBytes: memory.bytes,
  };
}

/** Prints each round: a regular check of the cancel word, the kernel's body, and in a checked build a check for traps. */
function printItems(body: WatBody, program: HoistedProgram, checked: boolean): void {
  const tiles = program.kind === 'tiles'; // the lanes of a tile are inside its regions
  const item = body.registers('$item', 'u32', !tiles && body.lanes > 1);
  laneLoop(body, get('$begin'), get('$end'), tiles ? 1 : body.lanes, item, (first) => {
    const done = `(i64.sub ${get(first)} (local.get $begin))`;
    const cancelled = `${CANCELLED} (then (return ${done})))`;
    body.line(
      tiles
        ? cancelled
        : `(if (i64.eqz (i64.and ${done} (i64.const ${CANCEL_CHECK_INTERVAL - 1}))) (then ${cancelled}))`,
    );
    body.cancelCheck = cancelled;
    body.block(program.body);
    if (checked) body.line(`(if (i32.atomic.load offset=4 (local.get $control)) (then (return ${done})))`);
  });
}

/** Returns the functions that the text calls, except the kernel's own, and those of native bodies. */
function helperFunctions(called: readonly string[], preludes: readonly string[]): string[] {
  const own = new Set(preludes.flatMap((text) => [...text.matchAll(/\(func \$(\w+)/g)].map(([, name]) => name)));
  const needed = [...called, ...preludes.flatMap(calledIn)].filter((name) => !own.has(name) && !/^fn\d/.test(name));
  return [...helperText(needed), ...preludes.flatMap((text) => text.trim().split('\n'))];
}

/** Prints the code before the first item: it reads the launch block and puts parameters into variables. */
function prologue(body: WatBody, program: HoistedProgram, checked: boolean): string[] {
  const lines: string[] = [];
  const set = (name: string, type: string, text: string): void => {
    lines.push(`(local.set ${body.local(name, type)} ${text})`);
  };
  const word = (at: number, type = 'i32'): string => `(${type}.load offset=${8 * at} (local.get $launch))`;
  set('$params', 'i32', word(0));
  set('$control', 'i32', word(1));
  set('$epoch', 'i32', word(2));
  lines.push(...constants(body));
  for (const decl of program.buffers) {
    const { slot, type } = decl;
    set(`$${bufferName(decl)}`, 'i32', word(3 + 2 * slot));
    if (checked)
      set(`$${lengthName(decl)}`, 'i64', `(i64.div_u ${word(4 + 2 * slot, 'i64')} (i64.const ${bytesOf[type]}))`);
  }
  const params = [...body.params].sort(([, a], [, b]) => (a.detail.word ?? 0) - (b.detail.word ?? 0));
  for (const [name, { type, detail }] of params) set(name, wasmType(type), paramText(type, detail.word ?? 0));
  for (const [name, { type, text }] of body.broadcastParams) set(name, 'v128', splatText(type, text));
  return lines;
}

/** Reads the address of the constants, if the text uses them. */
const constants = ({ locals }: Pick<WatBody, 'locals'>): string[] =>
  locals.has('$constants') ? ['(local.set $constants (global.get $constants))'] : [];

/** The layout of a thread's memory. Each part begins on a cache line. */
class ThreadMemory {
  bytes = 0;

  /** Returns the line that sets a variable to the address of a new part. */
  place(body: WatBody, name: string, size: number): string {
    const line = `(local.set ${body.local(name, 'i32')} (i32.add (global.get $near) (i32.const ${this.bytes})))`;
    this.bytes += Math.ceil(size / 64) * 64;
    return line;
  }

  /** Places the arrays of an item. Functions do not call themselves, so each array has one place. */
  arrays(body: WatBody, sizes: ReadonlyMap<BufferDecl, number>): string[] {
    return [...sizes].map(([decl, size]) => this.place(body, `$${bufferName(decl)}`, size));
  }
}

/** Places near arrays and the memory for sums. */
function nearArrays(body: WatBody, program: HoistedProgram, checked: boolean, memory: ThreadMemory): string[] {
  const lines: string[] = [];
  for (const decl of program.near) {
    const { type, length = 0 } = decl;
    lines.push(memory.place(body, `$${bufferName(decl)}`, length * bytesOf[type]));
    if (checked) lines.push(`(local.set ${body.local(`$${lengthName(decl)}`, 'i64')} (i64.const ${length}))`);
  }
  if (body.locals.has(PARTIALS)) lines.push(memory.place(body, PARTIALS, SUM_PARTIALS * 8));
  return lines;
}

function paramText(type: Scalar, word: number): string {
  const load = `(${wasmType(type)}.load offset=${4 * word}${bytesOf[type] === 8 ? ' align=4' : ''} (local.get $params))`;
  return type === 'bool' ? `(i32.ne ${load} (i32.const 0))` : load;
}

/** Declares locals in the order of their first use, ten per line. */
function declarations(locals: ReadonlyMap<string, string>): string[] {
  const texts = [...locals].map(([name, type]) => `(local ${name} ${type})`);
  return Array.from({ length: Math.ceil(texts.length / 10) }, (_, i) => texts.slice(10 * i, 10 * i + 10).join(' '));
}
