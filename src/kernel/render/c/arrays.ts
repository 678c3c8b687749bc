import type { Node } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { Gang } from '../../passes/shape/gang.js';
import { bufferName } from '../names.js';
import { cSyntax, type EffectNames, type EffectStatement, type Operand } from './c-like.js';
import type { Helpers } from './helpers.js';
import { vectorType } from './literal.js';

type ArrayStatement = Extract<EffectStatement, { kind: 'array' }>;
type LoadStatement = Extract<EffectStatement, { kind: 'load' }>;
type StoreStatement = Extract<EffectStatement, { kind: 'store' }>;

/**
 * Arrays of items in C: local variables of the function. If lanes have their own elements, a row has one element of all
 * lanes: an index that lanes share accesses a vector, others access lane by lane. A lane's row may be read under any mask:
 * without checks every index is inside (`boundArrays`).
 */
export class CArrays {
  readonly #gang: Gang;
  readonly #helpers: Helpers;
  readonly #checked: boolean;
  readonly #site: (origin: Origin) => number;

  constructor(gang: Gang, helpers: Helpers, checked: boolean, site: (origin: Origin) => number) {
    this.#gang = gang;
    this.#helpers = helpers;
    this.#checked = checked;
    this.#site = site;
  }

  declare({ array, values }: ArrayStatement, names: EffectNames): string[] {
    const name = bufferName(array);
    const { type, length = 0 } = array;
    const operands = values.map((node) => names.value(node));
    if (!this.#gang.varyingArrays.has(array)) {
      const texts = operands.map(({ text }) => text);
      return [cSyntax.array(type, name, length, texts)];
    }
    const rows = `${type} ${name}[${length}][LANES] __attribute__((aligned(64)))`;
    if (operands.length === 0) return [`${rows} = {0};`];
    if (operands.some(({ varying }) => varying))
      return [`${rows};`, ...operands.map((value, i) => this.#setRow(type, `${name}[${i}]`, value))];
    const isConstant = operands.every(({ node }) => node.op === 'const');
    const texts = operands.map(({ text }) => text).join(', ');
    const list = `${isConstant ? 'static const' : 'const'} ${type} values[] = {${texts}};`;
    return [
      `${rows};`,
      `{ ${list} for (u32 i = 0; i < ${length}; i++) for (int l = 0; l < LANES; l++) ${name}[i][l] = values[i]; }`,
    ];
  }

  load({ place, results, origin }: LoadStatement, names: EffectNames): string[] {
    const { buffer } = place;
    const name = bufferName(buffer);
    const index = names.value(place.index);
    const hasRows = this.#gang.varyingArrays.has(buffer);
    const result = names.define(results[0] as Node);
    const at = this.#address(buffer.length ?? 0, index, origin);
    if (!hasRows && !index.varying) {
      if (!this.#checked) return [`const ${buffer.type} ${result} = ${name}[${at('')}];`];
      return [`${buffer.type} ${result} = 0;`, this.#guarded(at(''), (inside) => `${result} = ${name}[${inside}];`)];
    }
    const vector = vectorType(buffer.type, true);
    const declared = `${vector} ${result}${this.#checked ? ' = {0}' : ''};`;
    const row = (inside: string) => `__builtin_memcpy(&${result}, ${name}[${inside}], sizeof ${result});`;
    if (!index.varying) return [declared, this.#guarded(at(''), row)];
    const one = (inside: string) => `${result}[l] = ${name}[${inside}]${hasRows ? '[l]' : ''};`;
    return [declared, this.#eachLane(this.#checked ? names.mask : undefined, this.#guarded(at('[l]'), one))];
  }

  store({ place, values, mask: maskNode, origin }: StoreStatement, names: EffectNames): string[] {
    const { buffer } = place;
    const name = bufferName(buffer);
    const index = names.value(place.index);
    const value = names.value(values[0] as Node);
    const at = this.#address(buffer.length ?? 0, index, origin);
    if (!this.#gang.varyingArrays.has(buffer))
      return [this.#guarded(at(''), (inside) => `${name}[${inside}] = ${value.text};`)];
    const mask = maskNode === this.#gang.arrayMasks.get(buffer) ? undefined : names.mask;
    if (!index.varying)
      return [this.#guarded(at(''), (inside) => this.#setRow(buffer.type, `${name}[${inside}]`, value, mask))];
    const own = `${value.text}${value.varying ? '[l]' : ''}`;
    if (this.#checked) {
      const one = (inside: string) => `${name}[${inside}][l] = ${own};`;
      return [this.#eachLane(names.mask, this.#guarded(at('[l]'), one))];
    }
    const target = `${name}[${at('[l]')}][l]`;
    return [this.#eachLane(undefined, `${target} = ${mask ? `${mask}[l] ? ${own} : ${target}` : own};`)];
  }

  /** Prints the assignment of a row, in which lanes outside the mask keep their elements. */
  #setRow(type: string, row: string, value: Operand, mask?: string): string {
    const vector = `${type}v`;
    const all = value.varying ? value.text : `splat_${type}(${value.text})`;
    if (!mask) return `{ const ${vector} all = ${all}; __builtin_memcpy(${row}, &all, sizeof all); }`;
    const select = this.#helpers.call(`select_${type}`, true);
    return (
      `{ ${vector} all; __builtin_memcpy(&all, ${row}, sizeof all); ` +
      `all = ${select}(${mask}, ${all}, all); __builtin_memcpy(${row}, &all, sizeof all); }`
    );
  }

  #eachLane(mask: string | undefined, act: string): string {
    return `for (int l = 0; l < LANES; l++) ${mask ? `if (${mask}[l]) ` : ''}{ ${act} }`;
  }

  /** Returns the text of a lane's index; in a checked build ~0 if it is out of bounds. */
  #address(length: number, index: Operand, origin: Origin): (lane: string) => string {
    const plain = (lane: string) => `${index.text}${index.varying ? lane : ''}`;
    if (!this.#checked) return plain;
    const site = this.#site(origin);
    return (lane) => `checked_index(${plain(lane)}, 1, ${length}, control, ${site})`;
  }

  /** In a checked build an access out of bounds is recorded and skipped. */
  #guarded(address: string, act: (address: string) => string): string {
    return this.#checked ? `{ const u64 at = ${address}; if (at != ~0ull) { ${act('at')} } }` : act(address);
  }
}
