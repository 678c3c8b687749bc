import {
  type AtomicBuffer,
  atomic,
  type Expr,
  f16Bits,
  type ItemContext,
  items,
  type ReadBuffer,
  read,
  rw,
  type Type,
} from '../../../kernel/index.js';
import type { CompileOptions, Device, FieldValues } from '../../device.js';
import type { Ability, Case } from '../case.js';
import { expectEqual, Rig } from '../rig.js';

/**
 * A small kernel whose every item computes some words, and a plain function that returns the expected ones. It runs on one
 * lane and in a gang, hoisted and not, checked and not, always with the same result.
 */
export interface Behaviour {
  readonly name: string;
  /** Job values: two words that are known before the launch. */
  readonly job?: { readonly few: number; readonly many: number };
  body(context: BehaviourContext): Expr<'u32'>[];
  /** Returns the expected words of item i; `index` is its index in the space. */
  expected(item: number, index: bigint): number[];
  readonly base?: bigint;
  readonly count?: number;
  readonly needs?: readonly Ability[];
}

export interface BehaviourContext {
  readonly item: Expr<'u32'>;
  readonly index: Expr<'u64'>;
  readonly few: Expr<'u32'>;
  readonly many: Expr<'u32'>;
  /** Words 0, 3, 6 … 297. */
  readonly threes: ReadBuffer<'u32'>;
  /** Zeroed words for atomics. */
  readonly tally: AtomicBuffer;
}

/** Not a multiple of any gang, and more than two gangs. */
const COUNT = 37;
const threes = Uint32Array.from({ length: 100 }, (_, i) => 3 * i);
const defaultJob = { few: 3, many: 1000 };

/** Covers one lane and a gang, checks on and off, and hoisting off, in few compilations. */
const variants: readonly CompileOptions[] = [{ lanes: 1, checked: true }, {}, { hoist: false, checked: true }];

export const variantsOf = (device: Device, only?: number): readonly CompileOptions[] =>
  distinctOptions(device, variants, only);

/**
 * Returns the options that give different programs on this device. The interpreter runs the trace, whatever the options.
 * On a GPU, lanes are the threads of a workgroup, which do not change the text, `wide` has no effect, and only CUDA has
 * native bodies. `only` is the number of the one to return, modulo their count.
 */
export function distinctOptions(
  device: Device,
  all: readonly CompileOptions[],
  only?: number,
): readonly CompileOptions[] {
  if (only !== undefined) {
    const list = distinctOptions(device, all);
    return list.slice(only % list.length).slice(0, 1);
  }
  if (device.info.kind === 'interpreter') return all.slice(0, 1);
  if (runsGangs(device)) return all;
  const text = ({ lanes: _lanes, wide: _wide, nativeBodies = true, ...rest }: CompileOptions): string =>
    JSON.stringify({ ...rest, nativeBodies: nativeBodies && device.info.kind === 'cuda' });
  return all.filter((one, i) => all.findLastIndex((other) => text(other) === text(one)) === i);
}

/** True if the number of lanes changes the program. */
export const runsGangs = ({ info }: Device): boolean => info.kind === 'native' || info.kind === 'wasm';

export const behaviourCase = (group: string, behaviour: Behaviour): Case => ({
  name: `${group}/${behaviour.name}`,
  ...(behaviour.needs && { needs: behaviour.needs }),
  run: async (device, only) => {
    for (const options of variantsOf(device, only)) await runBehaviour(device, behaviour, options);
  },
});

async function runBehaviour(device: Device, behaviour: Behaviour, options: CompileOptions): Promise<void> {
  const { base = 0n, count = COUNT, job = defaultJob } = behaviour;
  const expected = Array.from({ length: count }, (_, item) =>
    behaviour.expected(item, base + BigInt(item)).map((word) => word >>> 0),
  );
  const width = expected[0]?.length ?? 0;
  const kernel = items(
    kernelName(behaviour.name),
    { job: { few: 'u32', many: 'u32' }, buffers: { threes: read('u32'), tally: atomic(), out: rw('u32') } },
    ({
      item,
      index,
      job: known,
      buffers,
    }: ItemContext<JobSpec, Record<never, never>, BufferSpecs, Record<never, never>>) => {
      const values = behaviour.body({
        item,
        index,
        few: known.few,
        many: known.many,
        threes: buffers.threes,
        tally: buffers.tally,
      });
      for (const [k, value] of values.entries()) buffers.out.set(item.mul(width).add(k), value);
    },
  );
  const setup = {
    job: job as FieldValues,
    base,
    count,
    buffers: { threes, tally: new Uint32Array(64), out: new Uint32Array(count * width) },
  };
  const { buffers } = await Rig.with(device, async (rig) => rig.run(await device.compile(kernel, options), setup));
  expectEqual(`${behaviour.name} with ${JSON.stringify(options)}`, buffers.out, expected.flat());
}

type JobSpec = { readonly few: 'u32'; readonly many: 'u32' };
type BufferSpecs = {
  readonly threes: ReturnType<typeof read<'u32'>>;
  readonly tally: ReturnType<typeof atomic>;
  readonly out: ReturnType<typeof rw<'u32'>>;
};

/** Cases have names for people; kernels have names for generated text. */
const kernelName = (name: string): string => `k-${name.replaceAll(/[^a-zA-Z0-9]+/g, '-')}`.replace(/-$/, '');

/** Returns the bits of a value as words, so that a result can have any type. */
export function wordsOf(value: Expr<Type>): Expr<'u32'>[] {
  switch (value.type) {
    case 'u32':
      return [value as Expr<'u32'>];
    case 'bool':
      return [value.to('u32')];
    case 'i32':
    case 'f32':
      return [(value as Expr<'i32'>).bits('u32')];
    case 'f16':
      return [f16Bits(value as Expr<'f16'>)];
    case 'i64':
      return wordsOf((value as Expr<'i64'>).bits('u64'));
    case 'u64':
      return [(value as Expr<'u64'>).lo, (value as Expr<'u64'>).hi];
    case 'f64': {
      const bits = (value as Expr<'f64'>).bits('u64');
      return [bits.lo, bits.hi];
    }
  }
}
