import {
  type AtomicOp,
  type Block,
  type HoistedProgram,
  type Node,
  operandsOf,
  type Place,
  type TableDecl,
} from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { type Scalar, type Value, wordsOf } from '../../language/types.js';
import type { Gang } from '../../passes/shape/gang.js';
import { bufferName, lengthName, tableName } from '../names.js';
import { CArrays } from './arrays.js';
import type { EffectNames, EffectStatement, Operand } from './c-like.js';
import type { Helpers } from './helpers.js';
import { cLiteral, vectorType } from './literal.js';
import {
  declareLaneIndices,
  hasQuads,
  loadRows,
  type QuadAddresses,
  quadsPrelude,
  storeRows,
  transposeCall,
} from './quads.js';

/**
 * Buffers, atomics, tables and native bodies in C. Lanes access memory one by one under their mask; compilers turn the loops
 * into gathers where those pay. A checked build tests each index and records the first that is out of bounds.
 */
export class CMemory {
  readonly #gang: Gang;
  readonly #helpers: Helpers;
  readonly #checked: boolean;
  readonly #arrays: CArrays;
  readonly #preludes = new Set<string>();
  /** Words that also exist as the rows of a quad (quads.ts), keyed by the first of the four. */
  readonly #rows = new Map<Node, { readonly words: readonly Node[]; readonly rows: readonly string[] }>();
  /** Index values that already exist as scalars, and the block in which their name is valid. */
  readonly #laneIndices = new Map<Node, { readonly name: string; readonly block: Block }>();
  readonly sites: Origin[] = [];

  constructor(gang: Gang, helpers: Helpers, checked: boolean) {
    this.#gang = gang;
    this.#helpers = helpers;
    this.#checked = checked;
    this.#arrays = new CArrays(gang, helpers, checked, (origin) => this.#site(origin));
  }

  prelude(): string[] {
    const trap =
      'static u64 checked_index(u64 index, u64 width, u64 length, u32 *control, u32 site) {\n' +
      '  if (width <= length && index <= length - width) return index;\n' +
      '  u32 none = 0;\n' +
      '  if (__atomic_compare_exchange_n(&control[1], &none, 1u, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {\n' +
      '    control[2] = site; control[3] = (u32)index; control[4] = (u32)(index >> 32);\n' +
      '    control[5] = (u32)length; control[6] = (u32)(length >> 32);\n' +
      '  }\n' +
      '  return ~0ull;\n' +
      '}';
    return [...(this.#checked ? [trap] : []), ...this.#preludes];
  }

  bindings(program: HoistedProgram): string[] {
    const near = program.near.flatMap((decl) => [
      `${decl.type} *const ${bufferName(decl)} = ${bufferName(decl)}_storage;`,
      ...(this.#checked ? [`const u64 ${lengthName(decl)} = ${decl.length};`] : []),
    ]);
    const bound = program.buffers.flatMap((decl) => {
      const constness = decl.kind === 'read' ? 'const ' : '';
      const lines = [
        `${constness}${decl.type} *const ${bufferName(decl)} = (${constness}${decl.type} *)launch[${3 + 2 * decl.slot}];`,
      ];
      if (this.#checked)
        lines.push(`const u64 ${lengthName(decl)} = launch[${4 + 2 * decl.slot}] / sizeof(${decl.type});`);
      return lines;
    });
    return [...bound, ...near];
  }

  /**
   * Declares a tile's arrays, which are thread-local. In the local model GCC folds the offset of an index into the symbol.
   * In a branch that is never taken the offset may be 2^34 bytes, and the linker rejects it.
   */
  nearArrays(program: HoistedProgram): string[] {
    return program.near.map(
      (decl) =>
        `static _Thread_local ${decl.type} ${bufferName(decl)}_storage[${decl.length}] __attribute__((aligned(64), tls_model("global-dynamic")));`,
    );
  }

  constantTable(table: TableDecl): string[] {
    if (table.word !== undefined) return [];
    const values = table.values.map((node) => cLiteral(table.type, node.detail.value as Value));
    return [`static const ${table.type} ${tableName(table)}[${values.length}] = {${values.join(', ')}};`];
  }

  /** In checked builds, ends the launch after an item that trapped. */
  afterItem(): string[] {
    return this.#checked ? ['if (__atomic_load_n(&control[1], __ATOMIC_RELAXED)) return first - begin;'] : [];
  }

  lookup(node: Node, index: Operand, varying: boolean, mask: string | undefined): string {
    const table = node.detail.table as TableDecl;
    const element = (at: string) => (table.word === undefined ? `${tableName(table)}[${at}]` : jobTableText(table, at));
    const guarded = (at: string): string => {
      if (!this.#checked) return element(at);
      const site = this.#site(node.origin);
      return `({ const u64 at = checked_index(${at}, 1, ${table.values.length}, control, ${site}); at == ~0ull ? (${table.type})0 : ${element('at')}; })`;
    };
    if (table.type === 'f32' && table.word !== undefined) this.#helpers.use('bits_u32_f32');
    if (table.type === 'f64' && table.word !== undefined) this.#helpers.use('bits_u64_f64');
    if (!varying) return guarded(index.text);
    // If no lane can be out of bounds the mask does not matter, and compilers make the loop a gather.
    const entry = isBelow(index.node, table.values.length)
      ? element('index[l]')
      : `${mask}[l] ? ${guarded('index[l]')} : (${table.type})0`;
    return `({ const u32v index = ${index.text}; ${vectorType(table.type, true)} r; for (int l = 0; l < LANES; l++) r[l] = ${entry}; r; })`;
  }

  effect(statement: EffectStatement, names: EffectNames): string[] {
    switch (statement.kind) {
      case 'array':
        return this.#arrays.declare(statement, names);
      case 'load':
        return isArray(statement.place) ? this.#arrays.load(statement, names) : this.#load(statement, names);
      case 'store':
        return isArray(statement.place) ? this.#arrays.store(statement, names) : this.#store(statement, names);
      case 'prefetch':
        return this.#prefetch(statement, names);
      case 'atomic':
        return this.#atomic(statement, names);
      case 'native':
        return this.#native(statement, names);
    }
  }

  #load(statement: Extract<EffectStatement, { kind: 'load' }>, names: EffectNames): string[] {
    const { place, results } = statement;
    const type = place.buffer.type;
    const at = this.#address(place, names, results.length, statement.origin);
    const read = (k: number, address: string) =>
      this.#checked ? `(${address} == ~0ull ? (${type})0 : ${element(place, address, k)})` : element(place, address, k);
    if (!this.#gang.varying.has(results[0] as Node)) {
      const address = this.#checked ? this.#temporary() : at('');
      return [
        ...(this.#checked ? [`const u64 ${address} = ${at('')};`] : []),
        ...results.map((node, k) => `const ${type} ${names.define(node)} = ${read(k, address)};`),
      ];
    }
    const defined = results.map((node) => names.define(node));
    const one = (address: string) => defined.map((name, k) => `${name}[l] = ${read(k, address)};`).join(' ');
    const piece = (address: string): string => {
      if (defined.length === 1)
        return `__builtin_memcpy(&${defined[0]}, &${element(place, address, 0)}, sizeof ${defined[0]});`;
      const parts = defined.map((name, k) => `${name}[l] = p[4 * l + ${k}];`).join(' ');
      return `{ const ${type} *const p = &${element(place, address, 0)}; for (int l = 0; l < LANES; l++) { ${parts} } }`;
    };
    const vector = vectorType(type, true);
    const quads = this.#quads(place, names, results.length);
    if (quads) {
      const rows = this.#newRows(results);
      return [
        ...quads.lines,
        ...loadRows(this.#gang.lanes, quads, rows),
        `${vector} ${defined.join(', ')}; ${transposeCall(rows, defined)}`,
      ];
    }
    return [...defined.map((name) => `${vector} ${name} = {0};`), ...this.#allLanes(names, place, at, one, piece)];
  }

  #store(statement: Extract<EffectStatement, { kind: 'store' }>, names: EffectNames): string[] {
    const { place, values } = statement;
    const type = place.buffer.type;
    const at = this.#address(place, names, values.length, statement.origin);
    const texts = values.map((node) => names.value(node));
    const one = (lane: string) => (address: string) =>
      texts.map((value, k) => `${element(place, address, k)} = ${laneOf(value, lane)};`).join(' ');
    const isQuad = texts.length === 4 && wordsOf(type) === 1;
    if (!names.mask) return [this.#guarded(at(''), isQuad ? this.#quadStore(place, texts) : one(''))];
    const piece = (address: string): string => {
      const [value] = texts as [Operand];
      if (texts.length === 1) {
        const all = value.varying ? value.text : `splat_${type}(${value.text})`;
        return `{ const ${vectorType(type, true)} all = ${all}; __builtin_memcpy(&${element(place, address, 0)}, &all, sizeof all); }`;
      }
      const parts = texts.map((part, k) => `p[4 * l + ${k}] = ${laneOf(part, '[l]')};`).join(' ');
      return `{ ${type} *const p = &${element(place, address, 0)}; for (int l = 0; l < LANES; l++) { ${parts} } }`;
    };
    const quads = this.#quads(place, names, values.length);
    if (quads) {
      const { lines, rows } = this.#rowsOf(values, names);
      return [...quads.lines, ...lines, ...storeRows(this.#gang.lanes, quads, rows)];
    }
    return this.#allLanes(names, place, at, one('[l]'), piece);
  }

  /**
   * Stores the quad of a single lane. As one vector: GCC for x86 joins the words of neighbouring quads to vectors of 32 bytes,
   * finds no loads for those, and leaves all of them scalar.
   */
  #quadStore(place: Place, words: readonly Operand[]): (address: string) => string {
    const { type } = place.buffer;
    this.#preludes.add(`typedef ${type} ${type}x4 __attribute__((vector_size(16), aligned(4), may_alias));`);
    return (address) =>
      `*(${type}x4 *)&${element(place, address, 0)} = (${type}x4){${words.map(({ text }) => text).join(', ')}};`;
  }

  /** Returns the addresses of all lanes' quads; undefined if accessing lanes one by one is better. */
  #quads(place: Place, names: EffectNames, width: number): (QuadAddresses & { lines: string[] }) | undefined {
    const { buffer, base, index } = place;
    const { lanes, varying } = this.#gang;
    if (width !== 4 || wordsOf(buffer.type) !== 1 || !hasQuads(lanes) || (base && varying.has(base))) return undefined;
    if (!varying.has(index) || this.#isContiguous(place) || names.mask !== 'active' || this.#checked) return undefined;
    this.#preludes.add(quadsPrelude(lanes));
    const from = bufferName(buffer);
    const { lines, spot } = this.#laneIndicesOf(index, names);
    return {
      base: base ? `${from} + (u64)${names.value(base).text} * 4` : from,
      index: names.value(index).text,
      spot,
      lines,
    };
  }

  /**
   * Returns the lanes' indices as scalars. A sum with a constant is computed from the scalars of its other term, if they
   * exist.
   */
  #laneIndicesOf(index: Node, names: EffectNames): { lines: string[]; spot(lane: number): string } {
    const known = (node: Node | undefined): string | undefined => {
      const spots = node && this.#laneIndices.get(node);
      return spots && spots.block === names.block ? spots.name : undefined;
    };
    const [term, more] = index.op === 'add' && index.args[1]?.op === 'const' ? index.args : [];
    const [own, other] = [known(index), known(term)];
    if (own !== undefined) return { lines: [], spot: (lane) => `${own}[${lane}]` };
    if (other !== undefined)
      return { lines: [], spot: (lane) => `(${other}[${lane}] + ${cLiteral('u32', more?.detail.value as Value)})` };
    const name = `at${this.#temporaryCount++}`;
    this.#laneIndices.set(index, { name, block: names.block });
    return { lines: [declareLaneIndices(name, names.value(index).text)], spot: (lane) => `${name}[${lane}]` };
  }

  #newRows(words: readonly Node[]): readonly string[] {
    const name = `q${this.#temporaryCount++}`;
    const rows = words.map((_, j) => `${name}_${j}`);
    this.#rows.set(words[0] as Node, { words, rows });
    return rows;
  }

  /** Returns four words as rows: those they came from, or transposed here. */
  #rowsOf(words: readonly Node[], names: EffectNames): { lines: string[]; rows: readonly string[] } {
    const known = this.#rows.get(words[0] as Node);
    if (known && words.every((word, i) => word === known.words[i])) return { lines: [], rows: known.rows };
    const name = `q${this.#temporaryCount++}`;
    const rows = words.map((_, j) => `${name}_${j}`);
    const texts = words.map((word) => {
      const { text, varying } = names.value(word);
      return varying ? text : `splat_${word.type}(${text})`;
    });
    return { lines: [`u32v ${rows.join(', ')}; ${transposeCall(texts, rows)}`], rows };
  }

  /** True if consecutive lanes access consecutive elements. */
  #isContiguous({ index, base }: Place): boolean {
    return this.#gang.consecutive.has(index) && !(base && this.#gang.varying.has(base));
  }

  /**
   * Prints a gang's access: contiguous if all lanes are active and consecutive, else one lane after the other. An index that
   * wraps at 2^32 between two lanes is not contiguous.
   */
  #allLanes(
    names: EffectNames,
    place: Place,
    at: (lane: string) => string,
    one: (address: string) => string,
    piece: (address: string) => string,
  ): string[] {
    const masked = `for (int l = 0; l < LANES; l++) if (${names.mask}[l]) { ${this.#guarded(at('[l]'), one)} }`;
    if (names.mask !== 'active' || this.#checked) return [masked];
    const lastStart = (2 ** 32 - this.#gang.lanes).toString(16);
    const fast = this.#isContiguous(place)
      ? `if (whole && ${names.value(place.index).text}[0] <= 0x${lastStart}u) ${piece(at('[0]'))}`
      : `if (whole) for (int l = 0; l < LANES; l++) { ${one(at('[l]'))} }`;
    return [fast, `else ${masked}`];
  }

  /** In a checked build an access out of bounds is recorded and skipped. */
  #guarded(address: string, act: (address: string) => string): string {
    return this.#checked ? `{ const u64 at = ${address}; if (at != ~0ull) { ${act('at')} } }` : act(address);
  }

  #prefetch(statement: Extract<EffectStatement, { kind: 'prefetch' }>, names: EffectNames): string[] {
    // A hint may name any address and needs no check, and a checked build must not report it.
    const { place } = statement;
    const buffer = bufferName(place.buffer);
    const at = this.#plainAddress(place, names, 4);
    if (!names.mask) return [`__builtin_prefetch(&${buffer}[${at('')}]);`];
    if (names.mask === 'active' && hasQuads(this.#gang.lanes) && this.#gang.varying.has(place.index) && !place.base) {
      // An inactive lane may name any address too.
      this.#preludes.add(quadsPrelude(this.#gang.lanes));
      const { lines, spot } = this.#laneIndicesOf(place.index, names);
      const one = (_: unknown, lane: number) => `__builtin_prefetch(&${buffer}[(u64)${spot(lane)} * 4]);`;
      return [...lines, Array.from({ length: this.#gang.lanes }, one).join(' ')];
    }
    return [`for (int l = 0; l < LANES; l++) if (${names.mask}[l]) __builtin_prefetch(&${buffer}[${at('[l]')}]);`];
  }

  #atomic(statement: Extract<EffectStatement, { kind: 'atomic' }>, names: EffectNames): string[] {
    const { place, op, result } = statement;
    const { type } = place.buffer;
    const at = this.#address(place, names, 1, statement.origin);
    const operands = operandsOf(statement).map((node) => names.value(node));
    const name = result && names.define(result);
    const act = (lane: string) => (address: string) => {
      const args = [`&${element(place, address, 0)}`, ...operands.map((operand) => laneOf(operand, lane))];
      const call = this.#atomicCall(op, type, args.join(', '));
      return name ? `${name}${lane} = ${call};` : `${call};`;
    };
    const declared = name ? [`${vectorType(type, names.mask !== undefined)} ${name} = {0};`] : [];
    if (!names.mask) return [...declared, this.#guarded(at(''), act(''))];
    return [
      ...declared,
      `for (int l = 0; l < LANES; l++) if (${names.mask}[l]) { ${this.#guarded(at('[l]'), act('[l]'))} }`,
    ];
  }

  #atomicCall(op: AtomicOp, type: Scalar, args: string): string {
    switch (op) {
      case 'add':
      case 'sub':
      case 'and':
      case 'or':
      case 'xor':
        return `__atomic_fetch_${op}(${args}, __ATOMIC_RELAXED)`;
      case 'exchange':
      case 'load':
      case 'store':
        return `__atomic_${op}_n(${args}, __ATOMIC_RELAXED)`;
      case 'min':
      case 'max':
        this.#preludes.add(atomicExtreme(op, type));
        return `${atomicName(op, type)}(${args})`;
      case 'compareExchange':
        this.#preludes.add(atomicCompareExchange(type));
        return `${atomicName(op, type)}(${args})`;
    }
  }

  /**
   * Prints a native body with plain names: of scalars, of vectors that hold one word of all lanes, or, if it works on quads,
   * of rows: four of them for four words.
   */
  #native(statement: Extract<EffectStatement, { kind: 'native' }>, names: EffectNames): string[] {
    const { body, results } = statement;
    const lanes = this.#gang.varying.has(results[0] as Node) ? this.#gang.lanes : 1;
    if (body.prelude) this.#preludes.add(body.prelude);
    if (body.quads && hasQuads(lanes)) return this.#nativeQuads(statement, lanes, names);
    const lines: string[] = [];
    const args = statement.args.map((node) => {
      const operand = names.value(node);
      const text = lanes > 1 && !operand.varying ? `splat_${node.type}(${operand.text})` : operand.text;
      if (/^\w+$/.test(text)) return text;
      const name = this.#temporary();
      lines.push(`const ${vectorType(node.type, lanes > 1)} ${name} = ${text};`);
      return name;
    });
    const defined = results.map((node) => names.define(node));
    lines.push(...results.map((node, i) => `${vectorType(node.type, lanes > 1)} ${defined[i]};`));
    return [...lines, ...body.text({ lanes, args, results: defined }).trim().split('\n')];
  }

  #nativeQuads(
    { body, args, results }: Extract<EffectStatement, { kind: 'native' }>,
    lanes: number,
    names: EffectNames,
  ): string[] {
    this.#preludes.add(quadsPrelude(lanes));
    const argRows = groupsOf4(args).map((words) => this.#rowsOf(words, names));
    const defined = results.map((node) => names.define(node));
    const resultRows = groupsOf4(results).map((words) => this.#newRows(words));
    const text = body.text({
      lanes,
      args: argRows.flatMap(({ rows }) => rows),
      results: resultRows.flat(),
      rows: true,
    });
    return [
      ...argRows.flatMap(({ lines }) => lines),
      `u32v ${resultRows.flat().join(', ')};`,
      ...text.trim().split('\n'),
      ...groupsOf4(defined).map((words, k) => `u32v ${words.join(', ')}; ${transposeCall(resultRows[k] ?? [], words)}`),
    ];
  }

  /** Returns the text of the element's number for a lane; in a checked build ~0 if it is out of bounds. */
  #address(place: Place, names: EffectNames, width: number, origin: Origin): (lane: string) => string {
    const plain = this.#plainAddress(place, names, width);
    if (!this.#checked) return plain;
    const site = this.#site(origin);
    const length = lengthName(place.buffer);
    const base = place.base && names.value(place.base);
    // The last element of the access must be inside; index and result are those of the first. A base for which the address
    // would wrap is outside too.
    const whole = (lane: string) =>
      base ? `((u64)${laneOf(base, lane)} >> 60 ? ~0ull : ${plain(lane)})` : plain(lane);
    return (lane) => `checked_index(${whole(lane)}, ${width}, ${length}, control, ${site})`;
  }

  #plainAddress(place: Place, names: EffectNames, width: number): (lane: string) => string {
    const index = names.value(place.index);
    const base = place.base && names.value(place.base);
    return (lane) => {
      const at = laneOf(index, lane);
      const first = width === 1 ? at : `(u64)${at} * ${width}`;
      return base ? `(u64)${laneOf(base, lane)} * 4 + ${first}` : first;
    };
  }

  #site(origin: Origin): number {
    return this.sites.push(origin) - 1;
  }

  #temporaryCount = 0;
  #temporary(): string {
    return `t${this.#temporaryCount++}`;
  }
}

const isArray = ({ buffer }: Place): boolean => buffer.kind === 'array';

/** True if a u32 is smaller than `length` for all operands, as for a masked byte and for the top bits of a word. */
function isBelow({ op, args: [, by] }: Node, length: number): boolean {
  if (by?.op !== 'const') return false;
  const amount = Number(by.detail.value);
  return op === 'and' ? amount < length : op === 'shr' && 2 ** (32 - (amount % 32)) <= length;
}

/** Returns the k-th element of an access. */
const element = (place: Place, address: string, k: number): string =>
  `${bufferName(place.buffer)}[${address}${k === 0 ? '' : ` + ${k}`}]`;

const groupsOf4 = <T>(list: readonly T[]): T[][] =>
  Array.from({ length: list.length / 4 }, (_, i) => list.slice(4 * i, 4 * i + 4));

/** Returns the text of a value for one lane. */
const laneOf = (operand: Operand, lane: string): string => `${operand.text}${operand.varying ? lane : ''}`;

function jobTableText(table: TableDecl, at: string): string {
  const type: Scalar = table.type;
  const words = wordsOf(type);
  const word = (k: number) => `params[${table.word} + ${words === 1 ? at : `(${at}) * ${words}`}${k ? ` + ${k}` : ''}]`;
  switch (type) {
    case 'u32':
    case 'bool':
      return word(0);
    case 'i32':
      return `(i32)${word(0)}`;
    case 'f32':
      return `bits_u32_f32(${word(0)})`;
    case 'u64':
      return `((u64)${word(1)} << 32 | ${word(0)})`;
    case 'f64':
      return `bits_u64_f64((u64)${word(1)} << 32 | ${word(0)})`;
  }
}

const atomicName = (op: AtomicOp, type: Scalar): string => `atomic_${op}${type === 'u32' ? '' : `_${type}`}`;

function atomicExtreme(op: 'min' | 'max', type: Scalar): string {
  const better = op === 'min' ? '<' : '>';
  return (
    `static inline ${type} ${atomicName(op, type)}(${type} *cell, ${type} value) {\n` +
    `  ${type} seen = __atomic_load_n(cell, __ATOMIC_RELAXED);\n` +
    `  while (value ${better} seen && !__atomic_compare_exchange_n(cell, &seen, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}\n` +
    '  return seen;\n}'
  );
}

function atomicCompareExchange(type: Scalar): string {
  return (
    `static inline ${type} ${atomicName('compareExchange', type)}(${type} *cell, ${type} expected, ${type} value) {\n` +
    '  __atomic_compare_exchange_n(cell, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);\n' +
    '  return expected;\n}'
  );
}
