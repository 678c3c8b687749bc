import {
  type AtomicBuffer,
  array,
  atomic,
  type BufferSpec,
  breakWhen,
  type Cell,
  cell,
  choose,
  type Expr,
  type ItemArray,
  items,
  type Kernel,
  lit,
  loop,
  min,
  type Numeric,
  type ReadBuffer,
  type RwBuffer,
  read,
  returnItem,
  rw,
  select,
  type Table,
  type Type,
  table,
  tiles,
  type Unsigned,
  type Value,
  when,
  whileTrue,
} from '../../../kernel/index.js';
import { currentTrace } from '../../../kernel/language/trace.js';
import { type Operation, operations, slotType } from '../values/operations.js';
import { type BuiltFunction, buildFunction } from './functions/function-build.js';
import { isFunctionStep } from './functions/function-recipe.js';
import {
  blocksOf,
  type FunctionRecipe,
  hitFields,
  INPUT_LENGTH,
  type Operand,
  type Recipe,
  type RecipeStep,
  SHARED_ATOMICS,
} from './recipe.js';
import { type StepPosition, TileBuilder } from './tile-build.js';
import { isTileStep, usedNearArrays } from './tile-recipe.js';

const byName = new Map(operations.map((operation) => [operation.name, operation]));

/** The kernel that a recipe describes. */
export function build(recipe: Recipe, name = 'fuzz'): Kernel {
  const { types } = recipe;
  const signature = {
    job: { ...Object.fromEntries(types.map((type) => [`job-${type}`, [type, 2] as const])), hold: 'u32' as const },
    chunk: Object.fromEntries(types.map((type) => [`chunk-${type}`, type])),
    buffers: buffersOf(recipe),
    hit: hitFields(types),
  };
  // As in a std function, values need not be used: recipes make more than they use.
  const asStd = (body: () => void): void => currentTrace().withCallerOrigin(body);
  if (recipe.near)
    return tiles(name, signature, (context) =>
      asStd(() =>
        new Builder(recipe, { ...context, item: context.tile } as unknown as BuildContext, context as never).run(),
      ),
    );
  return items(name, signature, (context) =>
    asStd(() => new Builder(recipe, context as unknown as BuildContext).run()),
  );
}

/** Returns the buffers that the recipe names: GPUs bind few, and each is transferred in every launch. */
function buffersOf(recipe: Recipe): Record<string, BufferSpec> {
  const specs: Record<string, BufferSpec> = {};
  const visit = (step: RecipeStep): void => {
    if (step.kind === 'load' || step.kind === 'loadQuad' || step.kind === 'length')
      specs[`in-${step.type}`] = read(step.type);
    if (step.kind === 'byte') specs.bytes = read('u8');
    if (step.kind === 'own' || step.kind === 'store' || step.kind === 'storeQuad' || step.kind === 'far')
      specs[`own-${step.type}`] = rw(step.type);
    if (step.kind === 'tally' || step.kind === 'atomic') specs[`tally-${step.type}`] = atomic(step.type);
    for (const block of blocksOf(step)) block.forEach(visit);
  };
  recipe.steps.forEach(visit);
  for (const k of usedNearArrays(recipe.steps, blocksOf)) {
    const type = recipe.near?.[k]?.type; // near arrays are initialized from the input
    if (type) specs[`in-${type}`] = read(type);
  }
  return specs;
}

interface BuildContext {
  readonly job: Readonly<Record<`job-${Type}`, readonly Expr<Type>[]>> & { readonly hold: Expr<'u32'> };
  readonly chunk: Readonly<Record<string, Expr<Type>>>;
  readonly buffers: Readonly<Record<string, unknown>>;
  readonly item: Expr<'u32'>;
  readonly index: Expr<'u64'>;
  emit(hit: Readonly<Record<string, Expr<Type>>>): void;
}

interface Bindings {
  readonly values: Map<number, Expr<Type>>;
  readonly cells: Map<number, Cell<Type>>;
  readonly arrays: Map<number, ItemArray<Type>>;
  readonly functions: Map<number, BuiltFunction>;
  /** Cells and arrays from outside the region: they are only read in it. */
  readonly readOnlyCells?: ReadonlySet<number>;
}

const noBindings = (): Bindings => ({
  values: new Map(),
  cells: new Map(),
  arrays: new Map(),
  functions: new Map(),
});

const copyOf = (outer: Bindings): Bindings => ({
  ...outer,
  values: new Map(outer.values),
  cells: new Map(outer.cells),
  arrays: new Map(outer.arrays),
});

class Builder {
  readonly #recipe: Recipe;
  readonly #context: BuildContext;
  readonly #tables: Table<Numeric>[];
  readonly #tiles: TileBuilder<Bindings> | undefined;
  #position: StepPosition;
  #isInFunction = false;

  constructor(recipe: Recipe, context: BuildContext, tile?: ConstructorParameters<typeof TileBuilder>[1]) {
    this.#recipe = recipe;
    this.#context = context;
    this.#position = { item: context.item, index: context.index, owner: context.item, canWrite: true };
    const none = noBindings();
    this.#tables = recipe.tables.map(({ type, entries, plus }) => {
      const values = entries.map((entry) => this.#operand(type, entry, none) as Expr<Numeric>);
      return table(
        type,
        plus === undefined ? values : values.map((value) => value.add(lit(type, plus) as Expr<Numeric>)),
      );
    });
    if (!tile) return;
    this.#tiles = new TileBuilder<Bindings>(recipe, tile, {
      operand: <T extends Type>(type: T, operand: Operand, names: Bindings) =>
        this.#operand(type, operand, names) as Expr<T>,
      define: (id, value, names) => void names.values.set(id, value),
      traceAt: (position, steps, names, after) => this.#traceAt(position, steps, names, after),
      guarded,
    });
    this.#position = this.#tiles.position;
  }

  /** Traces a region's steps. */
  #traceAt(
    position: StepPosition,
    steps: readonly RecipeStep[],
    outer: Bindings,
    after?: (names: Bindings) => void,
  ): void {
    const before = this.#position;
    const names: Bindings = {
      ...copyOf(outer),
      readOnlyCells: new Set([...outer.cells.keys(), ...outer.arrays.keys()]),
    };
    this.#position = position;
    try {
      for (const step of steps) this.#step(step, names);
      after?.(names);
    } finally {
      this.#position = before;
    }
  }

  run(): void {
    this.#block(this.#recipe.steps, noBindings());
  }

  #block(steps: readonly RecipeStep[], outer: Bindings): void {
    const names = copyOf(outer);
    for (const step of steps) this.#step(step, names);
  }

  #step(step: RecipeStep, names: Bindings): void {
    const operandOf = <T extends Type>(type: T, operand: Operand): Expr<T> =>
      this.#operand(type, operand, names) as Expr<T>;
    const define = (id: number, value: Expr<Type>) => names.values.set(id, value);
    if (this.#isInFunction && !isFunctionStep(step, this.#recipe.tables)) return;
    if (isTileStep(step)) {
      this.#tiles?.step(step, names);
      return;
    }
    const { owner: item, canWrite } = this.#position;
    if (!canWrite && memoryWrites.has(step.kind)) return;
    const { buffers } = this.#context;
    const input = (type: Numeric) => buffers[`in-${type}`] as ReadBuffer<Numeric>;
    const own = (type: Numeric) => buffers[`own-${type}`] as RwBuffer<Numeric>;
    const tallyOf = (type: Unsigned) => buffers[`tally-${type}`] as AtomicBuffer<Unsigned>;
    switch (step.kind) {
      case 'operation':
        return void define(step.id, this.#operation(byName.get(step.name) as Operation, step.args, names));
      case 'load':
        return void define(
          step.id,
          guarded(step.type, operandOf('u32', step.index), INPUT_LENGTH, step.guard, (at) => input(step.type).at(at)),
        );
      case 'loadQuad': {
        const view = input(step.type).slice(operandOf('u64', step.base).and(7n));
        return void define(step.id, view.at4(operandOf('u32', step.index).and(7))[step.part] as Expr<Type>);
      }
      case 'byte':
        return void define(
          step.id,
          (buffers.bytes as { at(index: Expr<'u32'>): Expr<'u32'> }).at(operandOf('u32', step.index).rem(INPUT_LENGTH)),
        );
      case 'length': {
        const base = operandOf('u64', step.base);
        // Half of the slices begin in the buffer.
        return void define(step.id, input(step.type).slice(select(base.and(1n).eq(0n), base.and(31n), base)).length);
      }
      case 'lookup': {
        const from = this.#tables[step.table];
        if (from)
          define(
            step.id,
            guarded(from.type, operandOf('u32', step.index), from.length, step.guard, (at) => from.at(at)),
          );
        return;
      }
      case 'own':
        return void define(step.id, own(step.type).at(item.mul(4).add(step.slot)));
      case 'store':
        own(step.type).set(item.mul(4).add(step.slot), operandOf(step.type, step.value));
        return;
      case 'storeQuad':
        own(step.type).set4(
          item,
          step.values.map((value) => operandOf(step.type, value)),
        );
        return;
      case 'cell':
        return void names.cells.set(step.id, cell<Type>(step.type, operandOf(step.type, step.value)));
      case 'get':
        return void define(step.id, names.cells.get(step.cell)?.get() ?? this.#missing(step.type));
      case 'set':
        if (!names.readOnlyCells?.has(step.cell)) names.cells.get(step.cell)?.set(operandOf(step.type, step.value));
        return;
      case 'array': {
        const values = step.values.map((value) => operandOf(step.type, value));
        return void names.arrays.set(step.id, array<Type>(step.type, values.length > 0 ? values : step.length));
      }
      case 'arrayAt': {
        const from = names.arrays.get(step.array);
        const at = operandOf('u32', step.index);
        const read = from && guarded(step.type, at, from.length, step.guard, (inside) => from.at(inside));
        return void define(step.id, read ?? this.#missing(step.type));
      }
      case 'arraySet': {
        const to = names.readOnlyCells?.has(step.array) ? undefined : names.arrays.get(step.array);
        to?.set(operandOf('u32', step.index).rem(to.length), operandOf(step.type, step.value));
        return;
      }
      case 'tally':
        return void tallyOf(step.type)[step.op](SHARED_ATOMICS.indexOf(step.op), operandOf(step.type, step.value));
      case 'atomic': {
        const at = item.mul(2).add(SHARED_ATOMICS.length + step.word);
        const tally = tallyOf(step.type);
        if (step.op === 'load') return void define(step.id, tally.load(at));
        if (step.op === 'store') {
          tally.store(at, operandOf(step.type, step.value));
          return;
        }
        const value = operandOf(step.type, step.value);
        if (step.op !== 'compareExchange') return void define(step.id, tally[step.op](at, value));
        // Half of the values are the expected one: the lowest bit decides.
        const expected: Expr<Unsigned> = operandOf(step.type, step.expected);
        const known = select(expected.and(1).eq(1), tally.load(at), expected);
        return void define(step.id, tally.compareExchange(at, known, value));
      }
      case 'function':
        return void names.functions.set(step.id, this.#function(step, new Map(names.functions)));
      case 'call': {
        const types = this.#recipe.steps.find((one) => one.kind === 'function' && one.id === step.function);
        const params = types?.kind === 'function' ? types.params : [];
        const args = params.map(({ type }, i) => [`p${i}`, operandOf(type, step.args[i] as Operand)]);
        const results = names.functions.get(step.function)?.(Object.fromEntries(args));
        return void define(step.id, results?.[step.result] ?? this.#missing(step.type));
      }
      case 'emit':
        this.#context.emit(
          Object.fromEntries(
            Object.entries(hitFields(this.#recipe.types)).map(([field, type], i) => [
              field,
              operandOf(type, step.values[i] as Operand),
            ]),
          ),
        );
        return;
      default:
        this.#control(step, names);
        return;
    }
  }

  #function(step: FunctionRecipe, functions: Bindings['functions']): BuiltFunction {
    return buildFunction(step, (params) => {
      const names = { ...noBindings(), values: new Map(params), functions };
      const before = this.#isInFunction;
      this.#isInFunction = true;
      try {
        for (const inner of step.body) this.#step(inner, names);
        return step.types.map((type, i) => this.#operand(type, step.values[i] as Operand, names));
      } finally {
        this.#isInFunction = before;
      }
    });
  }

  #control(
    step: Extract<RecipeStep, { kind: 'when' | 'choose' | 'loop' | 'while' | 'hold' | 'break' | 'return' }>,
    names: Bindings,
  ): void {
    const operandOf = <T extends Type>(type: T, operand: Operand): Expr<T> =>
      this.#operand(type, operand, names) as Expr<T>;
    switch (step.kind) {
      case 'when': {
        const branch = when(operandOf('bool', step.condition), () => this.#block(step.body, names));
        if (step.otherwise.length > 0) branch.otherwise(() => this.#block(step.otherwise, names));
        return;
      }
      case 'choose':
        choose(
          operandOf('u32', step.which),
          step.cases.map((steps) => () => this.#block(steps, names)),
        );
        return;
      case 'loop':
        loop(min(operandOf('u32', step.rounds), step.maxRounds), (i) => {
          const inside: Bindings = { ...names, values: new Map(names.values).set(step.id, i) };
          this.#block(step.body, inside);
        });
        return;
      case 'while': {
        const rounds = cell('u32', 0);
        whileTrue(
          () => {
            const inside: Bindings = { ...names, values: new Map(names.values) };
            for (const inner of step.test) this.#step(inner, inside);
            return rounds.lt(step.maxRounds).and(this.#operand('bool', step.condition, inside) as Expr<'bool'>);
          },
          () => {
            rounds.set(rounds.add(1));
            this.#block(step.body, names);
          },
          { isLong: step.isLong },
        );
        return;
      }
      case 'hold':
        whileTrue(
          () => this.#context.job.hold.ne(0),
          () => undefined,
          { isLong: true },
        );
        return;
      case 'return':
        when(operandOf('bool', step.condition), () => returnItem());
        return;
      case 'break':
        breakWhen(operandOf('bool', step.condition));
        return;
    }
  }

  #operation(operation: Operation, args: readonly Operand[], names: Bindings): Expr<Type> {
    const operands = operation.uses.map((slot, i) =>
      this.#operand(slotType(slot, operation.on), args[i] as Operand, names),
    );
    if (!operation.name.startsWith('bits.')) return operation.build(operands);
    const [x] = operands as [Expr<Type>];
    if (x.type !== 'f16' && x.type !== 'f32' && x.type !== 'f64') return operation.build(operands);
    return operation.build([select(x.ne(x), lit(x.type, 0), x)]); // the bits of a NaN are unspecified
  }

  #operand(type: Type, operand: Operand, names: Bindings): Expr<Type> {
    const { job, chunk } = this.#context;
    const { item, index } = this.#position;
    if (this.#isInFunction && operand.kind !== 'value' && operand.kind !== 'literal') return this.#missing(type);
    const ofJob = (at: number) => job[`job-${type}`]?.[at] ?? this.#missing(type);
    switch (operand.kind) {
      case 'value': {
        const value = names.values.get(operand.id);
        return value && value.type === type ? value : this.#missing(type);
      }
      case 'literal':
        return lit(type, operand.value as Value);
      case 'item':
        return type === 'u32' ? item : type === 'u64' ? index : type === 'bool' ? item.and(1).eq(1) : item.to(type);
      case 'job':
        return ofJob(operand.at);
      case 'chunk':
        return chunk[`chunk-${type}`] ?? this.#missing(type);
    }
  }

  /** Returns the replacement for a value that was removed from the recipe. */
  #missing(type: Type): Expr<Type> {
    return lit(type, type === 'bool' ? true : 1);
  }
}

/** Steps that change memory: in a tile they are allowed only in `each` and `once`. */
const memoryWrites: ReadonlySet<RecipeStep['kind']> = new Set([
  'store',
  'storeQuad',
  'tally',
  'atomic',
  'emit',
] as const);

/** `access` within bounds: by wrapping the index, or only where it is inside. */
function guarded<T extends Type>(
  type: T,
  index: Expr<'u32'>,
  length: number,
  guard: boolean,
  access: (at: Expr<'u32'>) => Expr<Type>,
): Expr<Type> {
  if (!guard) return access(index.rem(length));
  const result = cell<Type>(type, type === 'bool' ? true : 1);
  when(index.lt(length), () => result.set(access(index)));
  return result.get();
}
