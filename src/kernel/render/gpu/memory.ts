import { type Node, operandsOf, type Place, type TableDecl } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { EffectNames, EffectStatement, Operand } from '../c/c-like.js';
import { bufferName, lengthName, tableName } from '../names.js';
import type { OperationPrinter } from './forms.js';
import type { GpuLanguage } from './language.js';
import { broadcastName, type GpuLayout, valueOfWords, wordIndex } from './layout.js';

/**
 * `isParallel` is true where threads do different things (in an items kernel: always), false between the regions of a
 * tile.
 */
export interface ThreadScope {
  isParallel: boolean;
  /** True while functions are printed. */
  isInFunction: boolean;
}

/** Buffers, near arrays, arrays, atomics, tables and native bodies on GPUs. */
export class GpuMemory {
  readonly #language: GpuLanguage;
  readonly #layout: GpuLayout;
  readonly #forms: OperationPrinter;
  readonly #scope: ThreadScope;
  readonly #preludes = new Set<string>();
  readonly sites: Origin[] = [];
  #temporaryCount = 0;

  constructor(language: GpuLanguage, layout: GpuLayout, forms: OperationPrinter, scope: ThreadScope) {
    this.#language = language;
    this.#layout = layout;
    this.#forms = forms;
    this.#scope = scope;
  }

  prelude(): string[] {
    return [...(this.#layout.checked ? [this.#language.memory.checks] : []), ...this.#preludes];
  }

  effect(statement: EffectStatement, names: EffectNames): string[] {
    switch (statement.kind) {
      case 'array': {
        const { array, values } = statement;
        const texts = values.map((node) => names.value(node).text);
        const { syntax, typeName } = this.#language;
        return [syntax.array(typeName(array.type), bufferName(array), array.length ?? 0, texts)];
      }
      case 'load':
        return this.#load(statement, names);
      case 'store':
        return this.#store(statement, names);
      case 'prefetch':
        // A hint may name any address and needs no check, and a checked build must not report it.
        return this.#language.memory.prefetch(statement.place.buffer, this.#quad(statement.place, names));
      case 'atomic':
        return this.#atomic(statement, names);
      case 'native':
        return this.#native(statement, names);
    }
  }

  lookup(node: Node, index: Operand): string {
    const table = node.detail.table as TableDecl;
    const at = this.#layout.checked
      ? `checked_entry(${this.#language.memory.checkArguments}${index.text}, ${table.values.length}u, ${this.#site(node.origin)}u)`
      : index.text;
    const { functionContext } = this.#language;
    const isHidden = this.#scope.isInFunction && functionContext !== undefined && !functionContext.nearTable;
    if (isHidden || !this.#layout.tables.get(table)?.near) return this.tableEntry(table, at);
    const entry = `${tableName(table)}[${at}]`;
    return this.#scope.isParallel ? entry : this.#language.memory.uniformLoad(entry);
  }

  /** Returns an entry as stored in the words of the launch block or of `tables`. */
  tableEntry(table: TableDecl, at: string): string {
    const place = this.#layout.tables.get(table);
    const { entry } = this.#language;
    const word = (k: number) => {
      const index = `${(place?.word ?? 0) + k}u + ${wordIndex(table.type, at)}`;
      return place?.from === 'launch' ? entry.wordAt(this.#layout, index) : entry.tableWord(index);
    };
    return valueOfWords(table.type, word, (key, args) => this.#forms.apply(key, args));
  }

  #load(statement: Extract<EffectStatement, { kind: 'load' }>, names: EffectNames): string[] {
    const { place, results } = statement;
    const { buffer } = place;
    const { memory, syntax, typeName } = this.#language;
    const type = typeName(buffer.type);
    if (!this.#scope.isParallel && memory.needsBroadcast(buffer)) return this.#broadcastLoad(statement, names);
    if (!this.#layout.checked && results.length === 4) {
      const quad = this.#quad(place, names);
      const lines = memory.readQuad(
        buffer,
        quad,
        results.map((node) => names.define(node)),
      );
      if (lines) return lines;
    }
    const { lines, at } = this.#address(statement, names, results.length);
    const read = (k: number) => {
      const text = memory.read(buffer, plus(at, k));
      return this.#scope.isParallel || buffer.kind !== 'near' ? text : memory.uniformLoad(text);
    };
    return [
      ...lines,
      ...results.flatMap((node, k) => {
        const name = names.define(node);
        if (!this.#layout.checked) return [syntax.constant(type, name, read(k))];
        const zero = this.#language.literal(buffer.type, buffer.type === 'u64' ? 0n : 0);
        return [syntax.variable(type, name, zero), this.#guarded(at, `${name} = ${read(k)};`)];
      }),
    ];
  }

  /** Prints a read by one thread that passes the value to all threads. */
  #broadcastLoad(
    statement: Extract<EffectStatement, { kind: 'load' | 'atomic' }>,
    names: EffectNames,
    results = statement.kind === 'load' ? statement.results : [statement.result as Node],
  ): string[] {
    const { memory, syntax, typeName } = this.#language;
    const { buffer } = statement.place;
    const name = `${broadcastName(buffer.type)}[0]`;
    const { lines, at } = this.#address(statement, names, results.length);
    const wait = memory.uniformLoadIsBarrier ? [] : memory.barrier({ near: true, global: false });
    const read = (k: number) =>
      statement.kind === 'load' ? memory.read(buffer, plus(at, k)) : memory.atomic('load', buffer, plus(at, k), []);
    return [
      ...lines,
      ...results.flatMap((node, k) => [
        `if (thread == 0u) { ${this.#guarded(at, `${name} = ${read(k)};`)} }`,
        ...wait,
        syntax.constant(typeName(buffer.type), names.define(node), memory.uniformLoad(name)),
        ...wait,
      ]),
    ];
  }

  #store(statement: Extract<EffectStatement, { kind: 'store' }>, names: EffectNames): string[] {
    const { place, values } = statement;
    const { memory } = this.#language;
    const texts = values.map((node) => names.value(node).text);
    if (!this.#layout.checked && values.length === 4) {
      const lines = memory.writeQuad(place.buffer, this.#quad(place, names), texts);
      if (lines) return lines;
    }
    const { lines, at } = this.#address(statement, names, values.length);
    const stores = texts.map((value, k) => memory.write(place.buffer, plus(at, k), value));
    return [...lines, ...(this.#layout.checked ? [this.#guarded(at, stores.join(' '))] : stores)];
  }

  #atomic(statement: Extract<EffectStatement, { kind: 'atomic' }>, names: EffectNames): string[] {
    const { place, op, result } = statement;
    const { memory, syntax, typeName, literal } = this.#language;
    const { type } = place.buffer;
    if (!this.#scope.isParallel && op === 'load') return this.#broadcastLoad(statement, names);
    const operands = operandsOf(statement).map((node) => names.value(node).text);
    const { lines, at } = this.#address(statement, names, 1);
    const definition = memory.atomicFunction?.(op, place.buffer);
    if (definition) this.#preludes.add(definition);
    const call = memory.atomic(op, place.buffer, at, operands);
    if (!result) return [...lines, this.#guarded(at, `${call};`)];
    const name = names.define(result);
    if (!this.#layout.checked) return [...lines, syntax.constant(typeName(type), name, call)];
    const zero = literal(type, type === 'u64' ? 0n : 0);
    return [...lines, syntax.variable(typeName(type), name, zero), this.#guarded(at, `${name} = ${call};`)];
  }

  /** Prints a native body with plain names. */
  #native(statement: Extract<EffectStatement, { kind: 'native' }>, names: EffectNames): string[] {
    const { syntax, typeName } = this.#language;
    if (statement.body.prelude) this.#preludes.add(statement.body.prelude);
    const lines: string[] = [];
    const args = statement.args.map((node) => {
      const { text } = names.value(node);
      if (/^\w+$/.test(text)) return text;
      const name = this.#temporary();
      lines.push(syntax.constant(typeName(node.type), name, text));
      return name;
    });
    const results = statement.results.map((node) => names.define(node));
    lines.push(...statement.results.map((node, i) => `${typeName(node.type)} ${results[i]};`));
    return [...lines, ...statement.body.text({ lanes: 1, args, results }).trim().split('\n')];
  }

  /** Returns the number of the access's first element; in a checked build all ones if the access is out of bounds. */
  #address(
    { place, origin }: { readonly place: Place; readonly origin: Origin },
    names: EffectNames,
    width: number,
  ): { lines: string[]; at: string } {
    const { address, checkArguments } = this.#language.memory;
    const { syntax, typeName } = this.#language;
    const index = names.value(place.index).text;
    const base = place.base && names.value(place.base).text;
    const keep = (text: string): { lines: string[]; at: string } => {
      const name = this.#temporary();
      return { lines: [syntax.constant(typeName(address), name, text)], at: name };
    };
    if (this.#layout.checked) {
      const { length: elements } = place.buffer;
      const length = elements === undefined ? lengthName(place.buffer) : `${elements}u`;
      const args = [base ?? '0u', index, `${width}u`, length, `${this.#site(origin)}u`];
      return keep(`checked_index(${checkArguments}${args.join(', ')})`);
    }
    const first = width === 1 ? index : `${address === 'u64' ? '(u64)' : ''}${index} * ${width}u`;
    const text = base ? `${base} * 4u + ${first}` : first;
    return width === 1 ? { lines: [], at: text } : keep(text);
  }

  #quad(place: Place, names: EffectNames): string {
    const index = names.value(place.index).text;
    return place.base ? `${names.value(place.base).text} + ${index}` : index;
  }

  /** In a checked build an access out of bounds is recorded and skipped. */
  #guarded(at: string, act: string): string {
    return this.#layout.checked ? `if (${at} != ${NONE[this.#language.memory.address]}) { ${act} }` : act;
  }

  #site(origin: Origin): number {
    return this.sites.push(origin) - 1;
  }
  #temporary(): string {
    return `t${this.#temporaryCount++}`;
  }
}

const NONE = { u32: '0xffffffffu', u64: '(u64)-1' };
const plus = (at: string, k: number): string => (k === 0 ? at : `${at} + ${k}u`);
