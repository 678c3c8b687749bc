import { cell, choose, loop, returnItem, when, whileTrue } from '../../../kernel/index.js';
import type { Case } from '../case.js';
import { type Behaviour, behaviourCase } from '../streams/behaviour.js';
import { loops } from './loops.js';

const branches: readonly Behaviour[] = [
  {
    name: 'items return from branches, from loops and after them',
    body: ({ item, few }) => {
      const x = cell('u32', few);
      when(item.rem(5).eq(2), () => returnItem());
      loop(item.rem(7), (i) => {
        when(i.eq(3), () => {
          x.set(x.add(100));
          when(item.gt(20), () => returnItem()).otherwise(() => x.set(x.add(1)));
        });
        loop(2, (k) => when(item.eq(18).and(i.eq(1)).and(k.eq(1)), () => returnItem()));
        x.set(x.add(i));
      });
      whileTrue(
        () => x.lt(item),
        () => {
          x.set(x.add(7));
          when(x.eq(few.add(14)), () => returnItem());
        },
      );
      when(item.eq(0), () => returnItem()).otherwise(() => x.set(x.mul(2)));
      return [x.get(), item.add(1)];
    },
    expected: (i) => {
      const row = ((): number | undefined => {
        let x = 3;
        if (i % 5 === 2) return undefined;
        for (let k = 0; k < i % 7; k++) {
          if (k === 3) {
            if (i > 20) return undefined;
            x += 101;
          }
          if (i === 18 && k === 1) return undefined;
          x += k;
        }
        while (x < i) {
          x += 7;
          if (x === 17) return undefined;
        }
        return i === 0 ? undefined : 2 * x;
      })();
      return row === undefined ? [0, 0] : [row, i + 1];
    },
  },
  {
    name: 'when and otherwise, nested',
    body: ({ item, many }) => {
      const x = cell('u32', 0);
      when(item.and(1).eq(1), () => {
        when(item.lt(10), () => x.set(1)).otherwise(() => {
          x.set(2);
          when(item.gt(30), () => x.set(x.add(many)));
        });
        x.set(x.add(100));
      }).otherwise(() => {
        when(item.eq(4), () => x.set(7));
      });
      return [x.get()];
    },
    expected: (i) => (i % 2 === 1 ? [100 + (i < 10 ? 1 : i > 30 ? 1002 : 2)] : [i === 4 ? 7 : 0]),
  },
  {
    name: 'conditions known early, taken and not',
    body: ({ item, few, many }) => {
      const x = cell('u32', 1);
      when(few.lt(many), () => x.set(x.add(item))).otherwise(() => x.set(99));
      when(few.gt(many), () => x.set(98));
      when(few.eq(3).and(item.ne(5)), () => x.set(x.mul(2)));
      return [x.get()];
    },
    expected: (i) => [(1 + i) * (i === 5 ? 1 : 2)],
  },
  {
    name: 'a branch that no item takes, one that all take, constant ones',
    body: ({ item, many }) => {
      const x = cell('u32', 0);
      when(item.ge(many), () => x.set(1));
      when(item.lt(many), () => x.set(x.add(2)));
      when(item.lt(0), () => x.set(x.add(4)));
      when(item.eq(item), () => x.set(x.add(8))).otherwise(() => x.set(77));
      return [x.get()];
    },
    expected: () => [10],
  },
  {
    name: 'the same value wanted in two branches and after them',
    body: ({ item, few }) => {
      const x = cell('u32', 0);
      when(item.rem(3).eq(0), () => x.set(item.mul(item).add(few))).otherwise(() =>
        x.set(item.mul(item).add(few).add(1)),
      );
      const outside = item.mul(item).add(few);
      const y = cell('u32', 5);
      when(item.gt(20), () => y.set(outside));
      return [x.get(), y.get(), outside];
    },
    expected: (i) => [i * i + 3 + (i % 3 === 0 ? 0 : 1), i > 20 ? i * i + 3 : 5, i * i + 3],
  },
  {
    name: 'choose, varying, uniform and beyond the last case',
    body: ({ item, few }) => {
      const x = cell('u32', 0);
      choose(item.rem(6), [
        () => x.set(10),
        () => x.set(item),
        () => when(item.gt(13), () => x.set(12)),
        () => x.set(13),
      ]);
      const y = cell('u32', 0);
      choose(few, [() => y.set(1), () => y.set(2), () => y.set(3), () => y.set(item.add(4)), () => y.set(5)]);
      const z = cell('u32', 0);
      choose(item, [() => z.set(9)]);
      return [x.get(), y.get(), z.get()];
    },
    expected: (i) => [[10, i, i > 13 ? 12 : 0, 13, 13, 13][i % 6] as number, i + 4, 9],
  },
];

export const control: readonly Case[] = [...branches, ...loops].map((one) => behaviourCase('control', one));
