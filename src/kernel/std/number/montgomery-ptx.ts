import type { NativeShape } from '../../ir/program.js';
import type { NativeText } from '../../language/std-function.js';
import { hasLazyReduction, type LimbShape } from './montgomery-generic.js';

/**
 * PTX for 32-bit limbs. A product's halves go to neighbouring words by `mad.lo.cc` and `madc.hi.cc`, which the assembler
 * joins to one 32×32+64 instruction if the pair of words is one aligned register pair. Words are therefore kept in two
 * accumulators, pairs that start at even positions in one and at odd positions in the other, and a row of products is two
 * carry chains: limbs 0, 2, 4 … and limbs 1, 3, 5 …
 */
export function ptxText(kind: PtxKind, shape: Omit<LimbShape, 'limb'>): NativeText {
  return { text: (names) => asmBlock(ptxInstructions(kind, shape.limbs, shape.spare), names) };
}

/**
 * `multiply` and `square` return numbers below n, or below 2n with four spare bits. The others take and return numbers below
 * R, or below R/2 with two spare bits: `loose` squares, `fold` divides a number with one limb more by 2^32, `leave` divides
 * by R.
 */
export type PtxKind = 'multiply' | 'square' | 'loose' | 'fold' | 'leave';

/**
 * One instruction; `to` and `from` are registers or literals. `select` is `setp` and `selp`: from[0] ≠ 0 ? from[1] : from[2].
 * `when` names a predicate.
 */
export interface PtxInstruction {
  readonly op: PtxOp;
  readonly to: string;
  readonly from: readonly string[];
  readonly when?: string;
}
export type PtxOp =
  | 'mad.lo.cc'
  | 'madc.lo.cc'
  | 'madc.hi.cc'
  | 'mul.lo'
  | 'add.cc'
  | 'addc.cc'
  | 'addc'
  | 'sub.cc'
  | 'subc.cc'
  | 'subc'
  | 'and'
  | 'shf.l.wrap'
  | 'select'
  | 'setp.ne'
  | 'setp.lt.s32';

/** Returns the instructions. Registers of the arguments: a0…, b0… (not for squares), n0…, k; of the results: r0…. */
export function ptxInstructions(kind: PtxKind, limbs: number, spare: number): PtxInstruction[] {
  const builder = new PtxBuilder(limbs, spare);
  builder[kind]();
  return builder.instructions;
}

class PtxBuilder {
  readonly instructions: PtxInstruction[] = [];
  readonly #limbs: number;
  readonly #spare: number;
  /** Registers by position, for pairs that start at even and at odd positions. */
  readonly #words: readonly [Map<number, string>, Map<number, string>] = [new Map(), new Map()];
  /** Carries out of a chain, keyed by position; added to a later word or at the end. */
  readonly #carries = new Map<number, string>();

  constructor(limbs: number, spare: number) {
    this.#limbs = limbs;
    this.#spare = spare;
  }

  multiply(): void {
    for (let i = 0; i < this.#limbs; i++) {
      this.#chain(i, this.#products('a', 0, `b${i}`));
      this.#chain(i + 1, this.#products('a', 1, `b${i}`));
      this.#reduce(i);
    }
    this.#finish();
  }

  square(): void {
    this.#squareRows(this.#spare === 0 ? this.#limbs + 1 : this.#limbs); // without a spare bit, doubling adds a limb
    this.#finish();
  }

  loose(): void {
    const limbs = this.#limbs;
    const isWide = this.#spare < 2;
    this.#squareRows(limbs);
    this.#sum(limbs, isWide);
    if (!isWide) return;
    // The bit that doubling moves out of the top limb stands for the limbs below it, R times.
    this.#emit('setp.lt.s32', 'isHigh', `a${limbs - 1}`, '0');
    this.#chainIf('isHigh', ['add.cc', 'addc.cc', 'addc'], (j) => (j < limbs - 1 ? `a${j}` : '0'));
    this.#subtractIfOver();
  }

  fold(): void {
    const isWide = this.#spare < 2;
    for (let j = 0; j <= this.#limbs; j++) this.#words[0].set(j, `a${j}`);
    this.#reduce(0);
    this.#sum(1, isWide);
    if (isWide) this.#subtractIfOver();
  }

  leave(): void {
    for (let j = 0; j < this.#limbs; j++) this.#words[0].set(j, `a${j}`);
    for (let j = 0; j < this.#limbs; j++) this.#reduce(j);
    this.#sum(this.#limbs, false); // at most n
  }

  /** Row i holds the square of limb i and its products with the limbs above, which are doubled first: d1 to d(end − 1). */
  #squareRows(end: number): void {
    const limbs = this.#limbs;
    for (let j = 1; j < end; j++) {
      const own = j < limbs ? `a${j}` : '0';
      this.#emit('shf.l.wrap', `d${j}`, `a${j - 1}`, own, '1');
      // Directly above limb i: without the bit from limb i. A shift would go to the pipe of the products.
      if (j < limbs) this.#emit('and', `f${j}`, `d${j}`, '0xfffffffe');
    }
    for (let i = 0; i < limbs; i++) {
      const isTop = i === limbs - 1;
      const above = (first: number) => (isTop ? [] : this.#products('d', first, `a${i}`, end));
      this.#chain(2 * i, [[`a${i}`, `a${i}`], ...above(i + 2)]);
      if (!isTop) this.#chain(2 * i + 1, [[`f${i + 1}`, `a${i}`], ...above(i + 3)]);
      // Positions below 2i + 2 are complete now. Clearing them at once keeps fewer registers alive.
      for (const place of [2 * i, 2 * i + 1]) if (place < limbs) this.#reduce(place);
    }
  }

  /** Returns the products of every second limb of a number, starting at `first`, with a factor. */
  #products(number: string, first: number, factor: string, end = this.#limbs): Product[] {
    const list: Product[] = [];
    for (let j = first; j < end; j += 2) list.push([`${number}${j}`, factor]);
    return list;
  }

  /** Adds the multiple of n that makes the word at `place` 0. */
  #reduce(place: number): void {
    const [own, other] = [this.#words[(place % 2) as 0 | 1], this.#words[((place + 1) % 2) as 0 | 1]];
    const [x, y] = [own.get(place), other.get(place)];
    const low = x ?? y ?? '0';
    const isSum = x !== undefined && y !== undefined;
    if (isSum) this.#emit('add.cc', low, x, y); // the carry enters the chain one position up
    own.set(place, low);
    other.delete(place);
    this.#emit('mul.lo', 'q', low, 'k');
    this.#chain(place + 1, this.#products('n', 1, 'q'), isSum);
    this.#chain(place, this.#products('n', 0, 'q'));
    own.delete(place);
  }

  /** Adds products to the words from `start` on, two words each, in one chain of carries. */
  #chain(start: number, products: readonly Product[], carryIn = false): void {
    const words = this.#words[(start % 2) as 0 | 1];
    let isOpen = true; // true if the chain can carry out of its last word
    let op: PtxOp = carryIn ? 'madc.lo.cc' : 'mad.lo.cc';
    products.forEach(([x, y], i) => {
      for (const half of [0, 1]) {
        const place = start + 2 * i + half;
        const before = words.get(place) ?? this.#takeCarry(place);
        const register = `${start % 2 ? 'o' : 'e'}${place}`;
        this.#emit(half === 0 ? op : 'madc.hi.cc', register, x, y, before);
        words.set(place, register);
        // An upper word of 0 cannot overflow: (2^32 − 1)² + 2^32 − 1 + 1 is below 2^64.
        isOpen = before !== '0';
      }
      op = 'madc.lo.cc';
    });
    if (!isOpen || (products.length === 0 && !carryIn)) return;
    const above = start + 2 * products.length;
    const before = this.#carries.get(above);
    this.#emit('addc', `c${above}`, before ?? '0', '0');
    this.#carries.set(above, `c${above}`);
  }

  #takeCarry(place: number): string {
    const carry = this.#carries.get(place) ?? '0';
    this.#carries.delete(place);
    return carry;
  }

  /** Adds both accumulators and the carries, and subtracts n if the sum is not below it. */
  #finish(): void {
    const isTight = this.#spare === 0;
    this.#sum(this.#limbs, isTight);
    if (hasLazyReduction({ spare: this.#spare })) return;
    for (let j = 0; j < this.#limbs; j++) this.#emit(j === 0 ? 'sub.cc' : 'subc.cc', `s${j}`, `r${j}`, `n${j}`);
    this.#emit('subc', 'less', isTight ? 'top' : '0', '0'); // all ones if the sum was smaller than n
    for (let j = 0; j < this.#limbs; j++) this.#emit('select', `r${j}`, 'less', `r${j}`, `s${j}`);
  }

  /** Adds both accumulators and the carries, from a place on; `top` is the carry out if the sum may have one. */
  #sum(first: number, hasTop: boolean): void {
    const [even, odd] = this.#words;
    const places = Array.from({ length: this.#limbs }, (_, j) => first + j);
    const add = (terms: (place: number) => readonly [string, string]) => {
      places.forEach((place, j) => {
        const last = j === places.length - 1 && !hasTop;
        this.#emit(j === 0 ? 'add.cc' : last ? 'addc' : 'addc.cc', `r${j}`, ...terms(place));
      });
    };
    add((place) => [even.get(place) ?? '0', odd.get(place) ?? '0']);
    if (hasTop) this.#emit('addc', 'top', this.#carries.get(first + this.#limbs) ?? '0', '0');
    if (places.some((place) => this.#carries.has(place))) {
      add((place) => [`r${place - first}`, this.#carries.get(place) ?? '0']);
      if (hasTop) this.#emit('addc', 'top', 'top', '0');
    }
  }

  #subtractIfOver(): void {
    this.#emit('setp.ne', 'isOver', 'top', '0');
    this.#chainIf('isOver', ['sub.cc', 'subc.cc', 'subc'], (j) => `n${j}`);
  }

  /** Adds to the result, or subtracts from it, if a predicate holds. What leaves the top limb changes `top`, if added. */
  #chainIf(when: string, [first, middle, last]: readonly [PtxOp, PtxOp, PtxOp], term: (j: number) => string): void {
    for (let j = 0; j < this.#limbs; j++)
      this.instructions.push({ op: j === 0 ? first : middle, to: `r${j}`, from: [`r${j}`, term(j)], when });
    if (last === 'addc') this.instructions.push({ op: last, to: 'top', from: ['top', '0'], when });
  }

  #emit(op: PtxOp, to: string, ...from: string[]): void {
    this.instructions.push({ op, to, from });
  }
}

type Product = readonly [string, string];

/** Prints inline assembly: arguments and results by number, all other registers local to the block. */
function asmBlock(list: readonly PtxInstruction[], { args, results }: NativeShape): string {
  const limbs = results.length;
  const numbers = (args.length - 1) / limbs === 3 ? ['a', 'b', 'n'] : ['a', 'n'];
  const inputs = numbers.flatMap((number) => Array.from({ length: limbs }, (_, j) => `${number}${j}`));
  return limbBlock(list, { inputs: [...inputs, 'k'], args, results });
}

/** Prints inline assembly whose results are r0…; `inputs` are the registers of the arguments. */
export function limbBlock(
  list: readonly PtxInstruction[],
  names: { readonly inputs: readonly string[]; readonly args: readonly string[]; readonly results: readonly string[] },
): string {
  const operands = new Map<string, string>();
  const bind = (register: string) => operands.set(register, `%${operands.size}`);
  names.results.forEach((_, j) => {
    bind(`r${j}`);
  });
  names.inputs.forEach(bind);
  const inner = new Set(
    list.flatMap(({ to, from }) => [to, ...from]).filter((name) => /^[a-z]/.test(name) && !operands.has(name)),
  );
  const text = (name: string) => operands.get(name) ?? name;
  const lines = list.map(({ op, to, from, when }) => {
    if (op === 'select')
      return `setp.ne.u32 isLess, ${text(from[0] ?? '')}, 0; selp.b32 ${text(to)}, ${text(from[1] ?? '')}, ${text(from[2] ?? '')}, isLess;`;
    const type = op === 'and' || op === 'shf.l.wrap' ? '.b32' : op.endsWith('32') ? '' : '.u32';
    return `${when ? `@${when} ` : ''}${op}${type} ${[to, ...from].map(text).join(', ')};`;
  });
  const predicates = [...inner].filter((name) => name.startsWith('is'));
  const words = [...inner].filter((name) => !name.startsWith('is'));
  const head = `.reg .u32 ${words.join(', ')}; .reg .pred ${['isLess', ...predicates].join(', ')};`;
  const outputs = names.results.map((name) => `"=&r"(${name})`).join(', ');
  const inputs = names.args.map((name) => `"r"(${name})`).join(', ');
  const quoted = ['{', head, ...lines, '}'].map((line) => `  "${line}\\n\\t"`);
  return ['asm(', ...quoted, `  : ${outputs}`, `  : ${inputs});`].join('\n');
}
