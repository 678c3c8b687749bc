import type { Type, Value } from '../../../kernel/index.js';
import type { Random } from '../model/random.js';
import { shiftCounts } from '../values/edges.js';
import { type Operation, operations, slotType } from '../values/operations.js';
import { randomCall, randomFunctions } from './functions/function-generate.js';
import { isFunctionStep } from './functions/function-recipe.js';
import { fullPalette, type Palette } from './palette.js';
import {
  type FunctionRecipe,
  type Operand,
  type OwnAtomic,
  type Recipe,
  type RecipeStep,
  SHARED_ATOMICS,
  type TableRecipe,
} from './recipe.js';
import { randomNearArrays, tileStep, tileTail } from './tile-generate.js';
import { isTileStep, type NearRecipe, tileDefinition } from './tile-recipe.js';

/** A random recipe. The same generator state gives the same recipe. */
export function generate(random: Random, kind: 'items' | 'tiles' = 'items', palette: Palette = fullPalette): Recipe {
  return new Generator(random, palette, kind === 'tiles' ? randomNearArrays(random, palette) : undefined).recipe();
}

interface TypedId {
  readonly id: number;
  readonly type: Type;
}

/** What a step can use at its position. */
interface Scope {
  readonly values: readonly TypedId[];
  readonly cells: readonly TypedId[];
  readonly arrays: readonly TypedId[];
  readonly isInLoop: boolean;
  readonly depth: number;
  /** Inside a region of a tile? */
  readonly isInRegion?: boolean;
  readonly isInFunction?: boolean;
}

const ownAtomics: readonly OwnAtomic[] = [...SHARED_ATOMICS, 'exchange', 'compareExchange', 'load', 'store'];
/** Maximum rounds of a loop by its nesting depth; bounds the work of an item. */
const maxRoundsByDepth = [6, 4, 2, 2];

class Generator {
  readonly #random: Random;
  readonly #palette: Palette;
  readonly #tables: TableRecipe[];
  /** Of a tile. */
  readonly #near: readonly NearRecipe[] | undefined;
  /** The types that this kernel favours. With all types, few expressions would combine values of one type. */
  readonly #types: readonly Type[];
  #nextId = 1;
  #budget: number;
  /** `hold` steps still to be drawn. */
  #holdsLeft: number;
  /** `array` steps still to be drawn: an item's arrays have a limit. */
  #arraysLeft = 12;
  readonly #functions: FunctionRecipe[] = [];

  constructor(random: Random, palette: Palette, near?: readonly NearRecipe[]) {
    this.#random = random;
    this.#palette = palette;
    this.#near = near;
    this.#budget = 5 + random.below(random.chance(0.15) ? 90 : 35);
    const favourites = Array.from({ length: 1 + random.below(3) }, () => random.pick(palette.scalars));
    this.#types = random.chance(0.3) ? palette.scalars : ['u32', ...favourites];
    this.#tables = Array.from({ length: random.below(3) }, () => this.#table());
    this.#holdsLeft = near ? 0 : random.below(3);
  }

  recipe(): Recipe {
    this.#drawFunctions();
    const own = { types: this.#palette.scalars, tables: this.#tables };
    const made = this.#block({ ...nothing, isInLoop: false, depth: 0 }, this.#budget);
    const steps = [...this.#functions, ...made];
    const tail = this.#tail(steps);
    if (!this.#near) return { ...own, steps: [...steps, ...tail] };
    const ending = tileTail(this.#near, tail, () => this.#nextId++);
    return { ...own, near: this.#near, steps: [...steps, ...ending] };
  }

  #drawFunctions(): void {
    const left = this.#budget;
    const body = (params: FunctionRecipe['params'], types: readonly Type[]) => {
      this.#budget = 2 + this.#random.below(this.#random.chance(0.5) ? 40 : 12);
      const scope: Scope = { ...nothing, values: params, isInLoop: false, depth: 2, isInFunction: true };
      const steps = this.#block(scope, this.#budget);
      const values = [...params, ...this.#visible(steps).values];
      return { body: steps, values: types.map((type) => this.#operand(type, { ...scope, values })) };
    };
    const context = { random: this.#random, types: this.#types, id: () => this.#nextId++, body };
    randomFunctions(context, (made) => this.#functions.push(made));
    this.#budget = left;
  }

  #table(): TableRecipe {
    const random = this.#random;
    const type = random.pick(this.#palette.numeric);
    const job = random.chance(0.5);
    const entries = Array.from(
      { length: 1 + random.below(8) },
      (): Operand =>
        job && random.chance(0.6) ? { kind: 'job', at: random.chance(0.5) ? 1 : 0 } : this.#literal(type),
    );
    return { type, entries, plus: random.chance(0.3) ? this.#value(type) : undefined };
  }

  /** Stores the values of the top level; otherwise most of them would be dropped as unused. */
  #tail(steps: readonly RecipeStep[]): RecipeStep[] {
    const random = this.#random;
    const tail: RecipeStep[] = [];
    const made = this.#visible(steps);
    for (const { id, type } of made.cells) {
      const read = this.#nextId++;
      tail.push({ kind: 'get', id: read, cell: id, type });
      made.values.push({ id: read, type });
    }
    for (const { id, type } of made.arrays) {
      const read = this.#nextId++;
      tail.push({ kind: 'arrayAt', id: read, array: id, type, index: { kind: 'item' }, guard: false });
      made.values.push({ id: read, type });
    }
    const last = made.values.slice(-16);
    for (const { id } of last.filter(({ type }) => type === 'bool').slice(-3)) {
      const body: RecipeStep[] = [{ kind: 'tally', type: 'u32', op: 'add', value: this.#literal('u32') }];
      tail.push({ kind: 'when', condition: { kind: 'value', id }, body, otherwise: [] });
    }
    for (const type of this.#palette.numeric) {
      // In quads, since compilers are slow with each store of a gang.
      const operands = last.filter((value) => value.type === type).map(({ id }): Operand => ({ kind: 'value', id }));
      for (let at = 0; at < operands.length; at += 4) {
        const values = [0, 1, 2, 3].map((k) => operands[at + k] ?? (operands[at] as Operand));
        tail.push(
          random.chance(0.7) || at + 4 < operands.length
            ? { kind: 'storeQuad', type, values }
            : { kind: 'store', type, slot: random.below(4), value: values[0] as Operand },
        );
      }
    }
    return tail;
  }

  #visible(steps: readonly RecipeStep[]): { values: TypedId[]; cells: TypedId[]; arrays: TypedId[] } {
    const visible = { values: [] as TypedId[], cells: [] as TypedId[], arrays: [] as TypedId[] };
    for (const step of steps) {
      const made = definition(step, this.#tables);
      if (made) visible[listOf(step)].push(made);
    }
    return visible;
  }

  #block(outer: Scope, budget: number): RecipeStep[] {
    const steps: RecipeStep[] = [];
    let scope = outer;
    const end = Math.max(0, this.#budget - budget);
    const add = (step: RecipeStep) => {
      steps.push(step);
      this.#budget--;
      const made = definition(step, this.#tables);
      if (!made) return;
      const list = listOf(step);
      scope = { ...scope, [list]: [...scope[list], made] };
    };
    while (this.#budget > end) {
      const step = this.#step(() => scope, add);
      if (step && (!scope.isInFunction || isFunctionStep(step, this.#tables))) add(step);
    }
    return steps;
  }

  /** Returns a step that is valid here. Steps that must precede it (a condition's operands) are passed to `add`. */
  #step(scope: () => Scope, add: (step: RecipeStep) => void): RecipeStep | undefined {
    const random = this.#random;
    const isOutside = !scope().isInFunction;
    const special = isOutside && this.#near && this.#tileStep(this.#near, scope);
    if (special) return special;
    if (this.#functions.length > 0 && random.chance(0.12))
      return randomCall(this.#functions, { random, id: () => this.#nextId++ }, (type) => this.#operand(type, scope()));
    if (isOutside && this.#holdsLeft > 0 && random.chance(0.1)) {
      this.#holdsLeft--;
      return { kind: 'hold' };
    }
    if (isOutside && !this.#near && random.chance(0.015))
      return { kind: 'return', condition: this.#condition(scope, add) };
    if (random.chance(0.12)) return this.#arrayStep(scope());
    const dice = random.below(100);
    const { depth, isInLoop, cells } = scope();
    const type = random.pick(this.#types);
    const memory = type === 'bool' ? 'u32' : type;
    const operand = (operandType: Type) => this.#operand(operandType, scope());
    if (dice < 50)
      return this.#operation(random.pick(this.#palette.operations.filter(({ on }) => on === type)), scope());
    if (dice < 54)
      return { kind: 'load', id: this.#nextId++, type: memory, index: operand('u32'), guard: random.chance(0.3) };
    if (dice < 56)
      return {
        kind: 'loadQuad',
        id: this.#nextId++,
        type: memory,
        base: operand('u64'),
        index: operand('u32'),
        part: random.below(4),
      };
    if (dice < 57)
      return random.chance(0.5)
        ? { kind: 'byte', id: this.#nextId++, index: operand('u32') }
        : { kind: 'length', id: this.#nextId++, type: memory, base: operand('u64') };
    if (dice < 60 && this.#tables.length > 0)
      return {
        kind: 'lookup',
        id: this.#nextId++,
        table: random.below(this.#tables.length),
        index: operand('u32'),
        guard: random.chance(0.3),
      };
    if (dice < 62) return { kind: 'own', id: this.#nextId++, type: memory, slot: random.below(4) };
    if (dice < 66) return { kind: 'store', type: memory, slot: random.below(4), value: operand(memory) };
    if (dice < 67) return { kind: 'storeQuad', type: memory, values: [0, 1, 2, 3].map(() => operand(memory)) };
    if (dice < 70) return { kind: 'cell', id: this.#nextId++, type, value: operand(type) };
    if (dice < 80 && cells.length > 0) {
      const cell = random.pick(cells);
      if (random.chance(0.4)) return { kind: 'get', id: this.#nextId++, cell: cell.id, type: cell.type };
      return { kind: 'set', cell: cell.id, type: cell.type, value: operand(cell.type) };
    }
    const word = random.pick(this.#palette.atomics);
    if (dice < 82) return { kind: 'tally', type: word, op: random.pick(SHARED_ATOMICS), value: operand(word) };
    if (dice < 83)
      return {
        kind: 'atomic',
        id: this.#nextId++,
        type: word,
        op: random.pick(ownAtomics),
        word: random.chance(0.5) ? 1 : 0,
        value: operand(word),
        expected: operand(word),
      };
    if (dice < 84) return { kind: 'emit', values: this.#palette.scalars.map(operand) };
    if (dice < 90 && isInLoop) return { kind: 'break', condition: this.#condition(scope, add) };
    return depth < 4 ? this.#nested(scope, add) : undefined;
  }

  #arrayStep(scope: Scope): RecipeStep {
    const random = this.#random;
    const operand = (type: Type) => this.#operand(type, scope);
    const { arrays } = scope;
    if (this.#arraysLeft > 0 && random.chance(arrays.length === 0 ? 1 : 0.15)) {
      this.#arraysLeft--;
      const type = random.pick(this.#types);
      const length = random.pick([1, 2, 3, 4, 7, 8, 16, 33]);
      const values = random.chance(0.4) ? Array.from({ length }, () => operand(type)) : [];
      return { kind: 'array', id: this.#nextId++, type, length, values };
    }
    if (arrays.length === 0) return { kind: 'cell', id: this.#nextId++, type: 'u32', value: operand('u32') };
    const { id, type } = random.pick(arrays);
    // Every third array has constant indices only: it becomes cells.
    const index: Operand = id % 3 === 0 ? { kind: 'literal', value: random.below(40) } : operand('u32');
    if (random.chance(0.5))
      return { kind: 'arrayAt', id: this.#nextId++, array: id, type, index, guard: random.chance(0.3) };
    return { kind: 'arraySet', array: id, type, index, value: operand(type) };
  }

  #tileStep(near: readonly NearRecipe[], scope: () => Scope): RecipeStep | undefined {
    return tileStep(near, scope().isInRegion ?? false, {
      random: this.#random,
      palette: this.#palette,
      id: () => this.#nextId++,
      operand: (type) => this.#operand(type, scope()),
      block: ({ isInRegion }) => {
        const inside: Scope = { ...scope(), isInRegion, isInLoop: false, depth: Math.max(2, scope().depth + 1) };
        const steps = this.#block(inside, 1 + this.#random.below(10));
        return { steps, values: this.#visible(steps).values };
      },
    });
  }

  #nested(scope: () => Scope, add: (step: RecipeStep) => void): RecipeStep {
    const random = this.#random;
    const inside = (more: Partial<Scope> = {}) =>
      this.#block({ ...scope(), depth: scope().depth + 1, ...more }, 1 + random.below(12));
    const maxRounds = maxRoundsByDepth[scope().depth] ?? 2;
    const dice = random.below(10);
    if (dice < 5) {
      const condition = this.#condition(scope, add);
      const body = inside();
      // Leaving a loop from inside a branch is where masks are hardest.
      if (scope().isInLoop && random.chance(0.4))
        body.push({ kind: 'break', condition: this.#operand('bool', scope()) });
      return { kind: 'when', condition, body, otherwise: random.chance(0.5) ? inside() : [] };
    }
    if (dice < 6)
      return {
        kind: 'choose',
        which: this.#operand('u32', scope()),
        cases: Array.from({ length: 1 + random.below(3) }, () => inside()),
      };
    if (dice < 8) {
      const id = this.#nextId++;
      // Half of the time a count that is likely to be between 0 and `maxRounds`, the same for all items or not.
      const rounds: Operand = random.chance(0.5)
        ? random.pick<Operand>([{ kind: 'item' }, { kind: 'literal', value: maxRounds }])
        : this.#operand('u32', scope());
      return {
        kind: 'loop',
        id,
        rounds,
        maxRounds,
        body: inside({ isInLoop: true, values: [...scope().values, { id, type: 'u32' }] }),
      };
    }
    // Values made in the test are visible only in the test and in its condition.
    let tested: Scope = { ...scope(), isInLoop: false };
    const test: RecipeStep[] = [];
    const condition = this.#condition(
      () => tested,
      (step) => {
        test.push(step);
        const made = definition(step, this.#tables);
        if (made) tested = { ...tested, values: [...tested.values, made] };
      },
    );
    return { kind: 'while', test, condition, maxRounds, body: inside({ isInLoop: true }), isLong: random.chance(0.4) };
  }

  /** Returns mostly a new comparison: existing bool values are few, and soon all the same. */
  #condition(scope: () => Scope, add: (step: RecipeStep) => void): Operand {
    const random = this.#random;
    if (random.chance(0.25)) return this.#operand('bool', scope());
    const cells = scope().cells.filter(({ type }) => type !== 'bool');
    if (cells.length > 0 && random.chance(0.4)) {
      const cell = random.pick(cells);
      const id = this.#nextId++;
      add({ kind: 'get', id, cell: cell.id, type: cell.type });
      const compare = random.pick(this.#palette.comparisons.filter(({ on }) => on === cell.type));
      const other = this.#operand(cell.type, scope());
      const step: RecipeStep = {
        kind: 'operation',
        id: this.#nextId++,
        name: compare.name,
        args: [{ kind: 'value', id }, other],
      };
      add(step);
      return { kind: 'value', id: step.id };
    }
    const type = random.pick(this.#types);
    const step = this.#operation(random.pick(this.#palette.comparisons.filter(({ on }) => on === type)), scope());
    add(step);
    return { kind: 'value', id: step.id };
  }

  #operation(operation: Operation, scope: Scope): Extract<RecipeStep, { kind: 'operation' }> {
    const args = operation.uses.map(
      (slot): Operand =>
        slot === 'n' && this.#random.chance(0.5)
          ? { kind: 'literal', value: this.#random.pick(shiftCounts) }
          : this.#operand(slotType(slot, operation.on), scope),
    );
    return { kind: 'operation', id: this.#nextId++, name: operation.name, args };
  }

  #operand(type: Type, scope: Scope): Operand {
    const random = this.#random;
    const fitting = scope.values.filter((value) => value.type === type);
    const dice = random.below(100);
    if (dice < 65 && fitting.length > 0) {
      // Recent values are used more often, so that expressions grow deep.
      const back = Math.min(random.below(fitting.length), random.below(fitting.length));
      return { kind: 'value', id: (fitting[fitting.length - 1 - back] as TypedId).id };
    }
    if (scope.isInFunction) return this.#literal(type);
    if (dice < 75) return { kind: 'item' };
    if (dice < 83) return { kind: 'job', at: random.chance(0.5) ? 1 : 0 };
    if (dice < 87) return { kind: 'chunk' };
    return this.#literal(type);
  }

  #literal(type: Type): Operand {
    return { kind: 'literal', value: this.#value(type) };
  }

  #value(type: Type): Value {
    return this.#palette.value(type, this.#random);
  }
}

const nothing = { values: [], cells: [], arrays: [] } as const;

/** Returns the list of a scope to which a step's definition belongs. */
const listOf = ({ kind }: RecipeStep): 'values' | 'cells' | 'arrays' =>
  kind === 'cell' ? 'cells' : kind === 'array' ? 'arrays' : 'values';

/** Returns the value, cell or array that a step defines for later steps. */
function definition(step: RecipeStep, tables: readonly TableRecipe[]): TypedId | undefined {
  if (isTileStep(step)) return tileDefinition(step);
  switch (step.kind) {
    case 'operation':
      return { id: step.id, type: resultOf(step.name) };
    case 'load':
    case 'loadQuad':
    case 'own':
    case 'cell':
    case 'get':
    case 'atomic':
    case 'array':
    case 'arrayAt':
    case 'call':
      return { id: step.id, type: step.type };
    case 'byte':
    case 'length':
      return { id: step.id, type: 'u32' };
    case 'lookup':
      return { id: step.id, type: tables[step.table]?.type ?? 'u32' };
    default:
      return undefined;
  }
}

const results = new Map(operations.map(({ name, result }) => [name, result]));
const resultOf = (name: string): Type => results.get(name) ?? 'u32';
