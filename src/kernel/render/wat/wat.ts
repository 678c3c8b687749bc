import { CANCEL_EVERY } from '../../abi/harness.js';
import { type Hoisted, SUM_PARTIALS } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { bytesOf, type Scalar } from '../../language/types.js';
import type { Gang } from '../../passes/shape/gang.js';
import { bufferName, lengthName } from '../names.js';
import { calledIn, helperText } from './helpers.js';
import { WatMemory } from './memory.js';
import { laneLoop, PARTIALS } from './regions.js';
import { get, wasmType } from './scalar.js';
import { WatBody } from './style.js';
import { constantTables } from './tables.js';
import { splatText } from './values.js';

export interface WatText {
  readonly text: string;
  readonly lineOrigins: readonly (Origin | undefined)[];
  readonly statements: number;
  /** Checked builds: the accesses that can trap, by the number they trap with. */
  readonly sites: readonly Origin[];
  /** Bytes that the module writes at the address it imports as `constants`. */
  readonly constantBytes: number;
  /** Bytes that each thread has for itself at the address it imports as `near`. */
  readonly threadBytes: number;
}

/**
 * A Wasm module as text: plain values with one lane, v128 registers with more (a multiple of four lanes).
 *
 * `run` works off items [begin, end) of a launch and says how many it did: fewer when it was cancelled or trapped. The
 * launch block is C's: 64-bit words, of which addresses use the lower half. launch[0] parameters, [1] control words
 * (cancel epoch; trap flag, its site, index and length), [2] this launch's epoch, then address and size in bytes of each
 * binding.
 */
export function renderWat(gang: Gang, { checked }: { readonly checked: boolean }): WatText {
  const { program } = gang;
  const tables = constantTables(program.tables);
  const made: WatMemory[] = [];
  const body = new WatBody(gang, (text) => {
    const memory = new WatMemory(text, checked, tables.at);
    made.push(memory);
    return memory;
  });
  printItems(body, program, checked);
  const { bytes: threadBytes, lines: near } = nearArrays(body, program, checked);
  const setup = [...prologue(body, program, checked), ...near];
  const [memory] = made;
  const preludes = [...(memory?.preludes ?? [])];
  const head = [
    `;; kernel ${program.name}, ${gang.lanes} lane${gang.lanes === 1 ? '' : 's'}`,
    '(module',
    '(import "millrace" "memory" (memory 1 65536 shared))',
    '(import "millrace" "constants" (global $constants i32))',
    '(import "millrace" "near" (global $near i32))',
    ...(tables.bytes > 0 ? [`(data (global.get $constants) "${tables.text}")`] : []),
    ...functions(body.called, preludes),
    '(func (export "run") (param $launch i32) (param $begin i64) (param $end i64) (result i64)',
    ...declarations(body.locals),
    ...setup,
  ];
  const tail = ['(i64.sub (local.get $end) (local.get $begin))))'];
  return {
    text: `${[...head, ...body.lines, ...tail].join('\n')}\n`,
    lineOrigins: [...head.map(() => undefined), ...body.origins],
    statements: body.statements,
    sites: memory?.sites ?? [],
    constantBytes: tables.bytes,
    threadBytes,
  };
}

/** Each round: a look at the cancel word now and then, the kernel's body, in a checked build a look at the trap. */
function printItems(body: WatBody, program: Hoisted, checked: boolean): void {
  const tiles = program.kind === 'tiles'; // a tile's lanes are inside its regions
  const item = body.registers('$item', 'u32', !tiles && body.lanes > 1);
  laneLoop(body, get('$begin'), get('$end'), tiles ? 1 : body.lanes, item, (first) => {
    const done = `(i64.sub ${get(first)} (local.get $begin))`;
    const cancelled = `(if (i32.ne (i32.atomic.load (local.get $control)) (local.get $epoch)) (then (return ${done})))`;
    body.line(
      tiles ? cancelled : `(if (i64.eqz (i64.and ${done} (i64.const ${CANCEL_EVERY - 1}))) (then ${cancelled}))`,
    );
    body.look = cancelled;
    body.block(program.body);
    if (checked) body.line(`(if (i32.atomic.load offset=4 (local.get $control)) (then (return ${done})))`);
  });
}

/** Functions that the text calls, and native bodies' own. */
function functions(called: ReadonlySet<string>, preludes: readonly string[]): string[] {
  const own = new Set(preludes.flatMap((text) => [...text.matchAll(/\(func \$(\w+)/g)].map(([, name]) => name)));
  const needed = [...called, ...preludes.flatMap(calledIn)].filter((name) => !own.has(name));
  return [...helperText(needed), ...preludes.flatMap((text) => text.trim().split('\n'))];
}

/** Before the first item: the launch block taken apart, parameters in variables. */
function prologue(body: WatBody, program: Hoisted, checked: boolean): string[] {
  const lines: string[] = [];
  const set = (name: string, type: string, text: string): void => {
    lines.push(`(local.set ${body.local(name, type)} ${text})`);
  };
  const word = (at: number, type = 'i32'): string => `(${type}.load offset=${8 * at} (local.get $launch))`;
  set('$params', 'i32', word(0));
  set('$control', 'i32', word(1));
  set('$epoch', 'i32', word(2));
  if (body.locals.has('$constants')) set('$constants', 'i32', '(global.get $constants)');
  for (const decl of program.buffers) {
    const { slot, type } = decl;
    set(`$${bufferName(decl)}`, 'i32', word(3 + 2 * slot));
    if (checked)
      set(`$${lengthName(decl)}`, 'i64', `(i64.div_u ${word(4 + 2 * slot, 'i64')} (i64.const ${bytesOf[type]}))`);
  }
  const params = [...body.params].sort(([, a], [, b]) => (a.detail.word ?? 0) - (b.detail.word ?? 0));
  for (const [name, { type, detail }] of params) set(name, wasmType(type), paramText(type, detail.word ?? 0));
  for (const [name, { type, text }] of body.spreadParams) set(name, 'v128', splatText(type, text));
  return lines;
}

/** A tile's arrays are its thread's, and so is the room for sums; each begins on a cache line. */
function nearArrays(body: WatBody, program: Hoisted, checked: boolean): { bytes: number; lines: string[] } {
  const lines: string[] = [];
  let bytes = 0;
  const place = (name: string, size: number): void => {
    lines.push(`(local.set ${body.local(name, 'i32')} (i32.add (global.get $near) (i32.const ${bytes})))`);
    bytes += Math.ceil(size / 64) * 64;
  };
  for (const decl of program.near) {
    const { type, length = 0 } = decl;
    place(`$${bufferName(decl)}`, length * bytesOf[type]);
    if (checked) lines.push(`(local.set ${body.local(`$${lengthName(decl)}`, 'i64')} (i64.const ${length}))`);
  }
  if (body.locals.has(PARTIALS)) place(PARTIALS, SUM_PARTIALS * 8);
  return { bytes, lines };
}

function paramText(type: Scalar, word: number): string {
  const load = `(${wasmType(type)}.load offset=${4 * word}${bytesOf[type] === 8 ? ' align=4' : ''} (local.get $params))`;
  return type === 'bool' ? `(i32.ne ${load} (i32.const 0))` : load;
}

/** Locals in the order they were met, ten to a line. */
function declarations(locals: ReadonlyMap<string, string>): string[] {
  const texts = [...locals].map(([name, type]) => `(local ${name} ${type})`);
  return Array.from({ length: Math.ceil(texts.length / 10) }, (_, i) => texts.slice(10 * i, 10 * i + 10).join(' '));
}
