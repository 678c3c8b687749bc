import {
  type Expr,
  lit,
  min,
  type Near,
  type Numeric,
  type RwBuffer,
  type TileContext,
  type Type,
  when,
} from '../../../kernel/index.js';
import { blocksOf, INPUT_LENGTH, type Operand, type Recipe, type RecipeStep } from './recipe.js';
import { INDICES_PER_TILE, type RegionWrites, regionWrites, type TileStep, usedNearArrays } from './tile-recipe.js';

/** The position of steps: the meaning of `item` there, and what is allowed. */
export interface StepPosition {
  readonly item: Expr<'u32'>;
  readonly index: Expr<'u64'>;
  /** The item, or the index of a region, whose own memory the steps use. */
  readonly owner: Expr<'u32'>;
  readonly canWrite: boolean;
}

/** Functions of the step builder that this builder uses. */
export interface StepBuilder<Names> {
  operand<T extends Type>(type: T, operand: Operand, names: Names): Expr<T>;
  define(id: number, value: Expr<Type>, names: Names): void;
  /** Traces steps at another position; `after` gets the names that they define. */
  traceAt(position: StepPosition, steps: readonly RecipeStep[], names: Names, after?: (names: Names) => void): void;
  guarded(
    type: Type,
    index: Expr<'u32'>,
    length: number,
    guard: boolean,
    access: (at: Expr<'u32'>) => Expr<Type>,
  ): Expr<Type>;
}

type AnyTile = TileContext<Record<never, never>, Record<never, never>, Record<never, never>, Record<never, never>>;

/** The region that is being traced. */
interface TileRegion {
  readonly kind: 'each' | 'sum' | 'once';
  readonly item: Expr<'u32'>;
  readonly flip: number;
  readonly writes: RegionWrites;
}

/** Regions and near arrays of a recipe. */
export class TileBuilder<Names> {
  readonly #tile: AnyTile;
  readonly #builder: StepBuilder<Names>;
  readonly #near: readonly (Near<Numeric> | undefined)[];
  #region: TileRegion | undefined;

  constructor(recipe: Recipe, tile: AnyTile, builder: StepBuilder<Names>) {
    this.#tile = tile;
    this.#builder = builder;
    const used = usedNearArrays(recipe.steps, blocksOf);
    this.#near = (recipe.near ?? []).map(({ type, length }, k) => (used.has(k) ? tile.near(type, length) : undefined));
    // Initialized, since their contents are undefined at first.
    for (const [k, near] of this.#near.entries()) {
      if (!near) continue;
      const input = (tile.buffers as unknown as Record<string, RwBuffer<Numeric>>)[`in-${near.type}`];
      tile.each(near.length, (i) =>
        near.set(i, (input as RwBuffer<Numeric>).at(i.add(tile.tile.add(9 * k)).rem(INPUT_LENGTH))),
      );
    }
  }

  /** Between regions. */
  get position(): StepPosition {
    const { tile, index } = this.#tile;
    return { item: tile, index, owner: tile.mul(INDICES_PER_TILE).add(INDICES_PER_TILE - 1), canWrite: false };
  }

  step(step: TileStep, names: Names): void {
    const operandOf = <T extends Type>(type: T, operand: Operand) => this.#builder.operand(type, operand, names);
    switch (step.kind) {
      case 'each':
        this.#tile.each(min(operandOf('u32', step.rounds), step.maxRounds), (item) =>
          this.#traceRegion(
            { kind: 'each', item, flip: step.flip, writes: regionWrites(step.body, blocksOf) },
            step.body,
            names,
          ),
        );
        return;
      case 'sum': {
        const { type } = step;
        const total = this.#tile.sum(type, min(operandOf('u32', step.rounds), step.maxRounds), (item) => {
          let term: Expr<Numeric> = lit(type, 1);
          this.#traceRegion({ kind: 'sum', item, flip: 0, writes: noWrites }, step.body, names, (inside) => {
            term = this.#builder.operand(type, step.value, inside);
          });
          return term;
        });
        this.#builder.define(step.id, total, names);
        return;
      }
      case 'once':
        this.#tile.once(() =>
          this.#traceRegion({ kind: 'once', item: this.#tile.tile, flip: 0, writes: noWrites }, step.body, names),
        );
        return;
      case 'scan': {
        const near = this.#near[step.near];
        if (near) this.#builder.define(step.id, this.#tile.scan(step.length, near as Near<'u32'>), names);
        return;
      }
      case 'far': {
        const own = (this.#tile.buffers as unknown as Record<string, RwBuffer<Numeric>>)[`own-${step.type}`];
        const i = this.#region?.writes.own.has(step.type)
          ? this.#region.item
          : operandOf('u32', step.index).rem(INDICES_PER_TILE);
        const at = this.#tile.tile.mul(INDICES_PER_TILE).add(i).mul(4).add(step.slot);
        this.#builder.define(step.id, (own as RwBuffer<Numeric>).at(at), names);
        return;
      }
      default:
        this.#access(step, names);
    }
  }

  #traceRegion(region: TileRegion, steps: readonly RecipeStep[], names: Names, after?: (names: Names) => void): void {
    const { tile, index } = this.#tile;
    const once = region.kind === 'once';
    const { item } = region;
    const position: StepPosition = {
      item,
      index: once ? index : index.add(item.to('u64')),
      owner: once ? this.position.owner : tile.mul(INDICES_PER_TILE).add(item),
      canWrite: region.kind !== 'sum',
    };
    this.#region = region;
    try {
      this.#builder.traceAt(position, steps, names, after);
    } finally {
      this.#region = undefined;
    }
  }

  #access(step: Extract<TileStep, { kind: 'nearAt' | 'nearSet' | 'nearTotal' }>, names: Names): void {
    const near = this.#near[step.near];
    if (!near) return;
    const operandOf = <T extends Type>(type: T, operand: Operand) => this.#builder.operand(type, operand, names);
    const region = this.#region;
    const role = region?.writes.near.get(step.near);
    const { length, type } = near;
    const anySlot = () => operandOf('u32', step.index).rem(length);
    const flip = (length & (length - 1)) === 0 ? (region?.flip ?? 0) & (length - 1) : 0;
    const slotOf = (i: Expr<'u32'>) => (flip === 0 ? i : i.xor(flip));
    switch (step.kind) {
      case 'nearAt': {
        if (role === undefined || !region) this.#builder.define(step.id, near.at(anySlot()), names);
        if (role === 'set' && region)
          this.#builder.define(
            step.id,
            this.#builder.guarded(type, region.item, length, true, (i) => near.at(slotOf(i))),
            names,
          );
        return;
      }
      case 'nearSet': {
        const value = operandOf(type, step.value);
        if (region?.kind === 'once') near.set(anySlot(), value);
        else if (region && role === 'set') when(region.item.lt(length), () => near.set(slotOf(region.item), value));
        return;
      }
      case 'nearTotal': {
        if (type !== 'u32' || !region || (region.kind !== 'once' && role !== step.op)) return;
        (near as Near<'u32'>)[step.op](anySlot(), operandOf('u32', step.value));
        return;
      }
    }
  }
}

const noWrites: RegionWrites = { near: new Map(), own: new Set() };
