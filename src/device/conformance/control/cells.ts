import { cell, cells, type Expr, loop, type Type, type Value, when, whileTrue } from '../../../kernel/index.js';
import type { Case } from '../case.js';
import { dataOf } from '../rig.js';
import { type Behaviour, behaviourCase, wordsOf } from '../streams/behaviour.js';

/** Returns the words of a value in memory. */
export const wordsIn = (type: Type, value: Value): number[] =>
  type === 'f16' ? [Number(dataOf(type, [value])[0])] : [...new Uint32Array(dataOf(type, [value]).buffer)];

const first: Readonly<Record<Type, Value>> = {
  u32: 0xffffffff,
  i32: -5,
  u64: 2n ** 63n + 1n,
  i64: -(2n ** 63n) + 5n,
  f16: -2.5,
  f32: -0.5,
  f64: 1e300,
  bool: false,
};
const others: Readonly<Record<Exclude<Type, 'f32' | 'f16'>, Value>> = {
  u32: 0,
  i32: -(2 ** 31),
  u64: 2n ** 32n - 1n,
  i64: -1n,
  f64: -5e-324,
  bool: true,
};

const behaviours: readonly Behaviour[] = [
  {
    name: 'reading takes a snapshot',
    body: ({ item }) => {
      const x = cell('u32', item);
      const before = x.get();
      const sum = x.add(1);
      x.set(50);
      const between = x.get();
      x.set(x.add(before));
      return [before, sum, between, x.get()];
    },
    expected: (i) => [i, i + 1, 50, 50 + i],
  },
  {
    name: 'two cells change places',
    body: ({ item, few }) => {
      const [a, b] = cells('u32', [item, few]) as [ReturnType<typeof cell<'u32'>>, ReturnType<typeof cell<'u32'>>];
      loop(item.rem(4), () => {
        const was = a.get();
        a.set(b.add(1));
        b.set(was);
      });
      return [a.get(), b.get()];
    },
    expected: (i) => {
      let [a, b] = [i, 3];
      for (let k = 0; k < i % 4; k++) [a, b] = [b + 1, a];
      return [a, b];
    },
  },
  {
    name: 'a uniform cell in varying loops and branches',
    body: ({ item, few }) => {
      const rounds = cell('u32', 0);
      const same = cell('u32', few);
      loop(item.rem(5), () => {
        rounds.set(rounds.add(1));
        same.set(7);
      });
      const inside = cell('u32', 0);
      when(item.gt(8), () => {
        const local = cell('u32', few);
        loop(3, (i) => local.set(local.mul(2).add(i)));
        inside.set(local);
      });
      return [rounds.get(), same.get(), inside.get()];
    },
    expected: (i) => [i % 5, i % 5 > 0 ? 7 : 3, i > 8 ? 28 : 0],
  },
  {
    name: 'a cell created in a loop is set again each round',
    body: ({ item }) => {
      const total = cell('u32', 0);
      loop(4, (i) => {
        const fresh = cell('u32', 10);
        when(i.eq(item.and(3)), () => fresh.set(20));
        loop(i, () => fresh.set(fresh.add(1)));
        total.set(total.add(fresh));
      });
      return [total.get()];
    },
    expected: () => [40 + 10 + 6],
  },
  {
    name: 'known values of cells are forgotten where they may change',
    body: ({ item, few }) => {
      const x = cell('u32', 5);
      const y = cell('u32', 5);
      const early = x.get();
      when(item.and(1).eq(0), () => x.set(6)).otherwise(() => y.set(x));
      const z = x.add(y);
      loop(few, (i) => {
        when(x.eq(6), () => y.set(i));
        x.set(x.add(1));
      });
      whileTrue(
        () => x.lt(12),
        () => x.set(x.add(2)),
      );
      return [early, z, x.get(), y.get()];
    },
    expected: (i) => {
      let [x, y] = i % 2 === 0 ? [6, 5] : [5, 5];
      const z = x + y;
      for (let k = 0; k < 3; k++) {
        if (x === 6) y = k;
        x++;
      }
      while (x < 12) x += 2;
      return [5, z, x, y];
    },
  },
  ofTypes('integers and bools', ['u32', 'i32', 'u64', 'bool']),
  { ...ofTypes('f32', ['f32']), needs: ['f32'] },
  { ...ofTypes('i64 and f16', ['i64', 'f16']), needs: ['f32'] },
  { ...ofTypes('floats to the last bit', ['f32', 'f64'], 2 ** -149), needs: ['f64', 'exact-floats'] },
];

/** Set under a branch and in a loop. */
function ofTypes(what: string, types: readonly Type[], single = 1.25): Behaviour {
  const second = { ...others, f16: 1.25, f32: single };
  return {
    name: `${what}, set under a branch and in a loop`,
    body: ({ item }) => {
      const odd = item.and(1).eq(1);
      return types.flatMap((type) => {
        const x = cell<Type>(type, first[type] as number);
        when(odd, () => x.set(second[type] as number));
        loop(item.rem(3), (i) => when(i.eq(1), () => x.set(item.to(type) as Expr<Type>)));
        return wordsOf(x.get());
      });
    },
    expected: (i) =>
      types.flatMap((type) => {
        const last: Value = type === 'bool' ? i !== 0 : type === 'u64' || type === 'i64' ? BigInt(i) : i;
        return wordsIn(type, i % 3 === 2 ? last : ((i % 2 === 1 ? second : first)[type] as Value));
      }),
  };
}

export const cellCases: readonly Case[] = behaviours.map((one) => behaviourCase('cells', one));
