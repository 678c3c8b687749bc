import { breakWhen, cell, loop, table, when, whileTrue } from '../../../kernel/index.js';
import type { Behaviour } from '../streams/behaviour.js';

/** Rounds, conditions and breaks; items of a gang leave their loops at different times. */
export const loops: readonly Behaviour[] = [
  {
    name: 'rounds: none, constant, of the job, varying',
    body: ({ item, few, threes }) => {
      const x = [0, 1, 2, 3, 4].map(() => cell('u32', 0));
      const count = (k: number, rounds: Parameters<typeof loop>[0]) =>
        loop(rounds, (i) => x[k]?.set(x[k].add(i).add(1)));
      count(0, 0);
      count(1, 5);
      count(2, few);
      count(3, item.rem(7));
      count(4, threes.at(item.and(3)));
      return x.map((one) => one.get());
    },
    expected: (i) => [0, 5, 3, i % 7, 3 * (i % 4)].map((n) => (n * (n + 1)) / 2),
  },
  {
    name: 'while, uniform and varying',
    body: ({ item, few }) => {
      const n = cell('u32', item.add(1));
      const steps = cell('u32', 0);
      whileTrue(
        () => n.ne(1),
        () => {
          when(n.and(1).eq(0), () => n.set(n.shr(1))).otherwise(() => n.set(n.mul(3).add(1)));
          steps.set(steps.add(1));
        },
      );
      const u = cell('u32', 0);
      whileTrue(
        () => u.mul(u).lt(few.mul(few)),
        () => u.set(u.add(1)),
      );
      const never = cell('u32', 4);
      whileTrue(
        () => never.gt(4),
        () => never.set(0),
      );
      return [steps.get(), u.get(), never.get()];
    },
    expected: (i) => {
      let steps = 0;
      for (let n = i + 1; n !== 1; steps++) n = n % 2 === 0 ? n / 2 : 3 * n + 1;
      return [steps, 3, 4];
    },
  },
  {
    name: 'a condition with work of its own',
    body: ({ item, threes }) => {
      const at = cell('u32', 0);
      const looks = cell('u32', 0);
      whileTrue(
        () => {
          looks.set(looks.add(1));
          return threes.at(at).lt(item);
        },
        () => at.set(at.add(1)),
      );
      return [at.get(), looks.get()];
    },
    expected: (i) => [Math.ceil(i / 3), Math.ceil(i / 3) + 1],
  },
  {
    name: 'break: uniform, varying, and statements after it',
    body: ({ item, few }) => {
      const u = cell('u32', 0);
      loop(10, (i) => {
        breakWhen(i.eq(few));
        u.set(u.add(i).add(1));
      });
      const v = cell('u32', 0);
      loop(10, (i) => {
        v.set(v.add(100));
        breakWhen(i.eq(item));
        v.set(v.add(1));
        breakWhen(i.mul(2).gt(item));
        v.set(v.add(i));
      });
      return [u.get(), v.get()];
    },
    expected: (i) => {
      let v = 0;
      for (let k = 0; k < 10; k++) {
        v += 100;
        if (k === i) break;
        v += 1;
        if (2 * k > i) break;
        v += k;
      }
      return [6, v];
    },
  },
  {
    name: 'break inside branches',
    body: ({ item, few, many }) => {
      const x = cell('u32', 0);
      loop(20, (i) => {
        when(item.and(1).eq(1), () => {
          x.set(x.add(1));
          breakWhen(i.ge(item.and(7)));
          x.set(x.add(10));
        }).otherwise(() => {
          when(i.gt(4), () => {
            breakWhen(item.lt(20));
            x.set(x.add(1000));
          });
          x.set(x.add(few));
        });
        x.set(x.add(many));
        when(few.eq(3), () => breakWhen(i.eq(9)));
      });
      return [x.get()];
    },
    expected: (item) => {
      let x = 0;
      for (let i = 0; i < 20; i++) {
        if (item % 2 === 1) {
          x += 1;
          if (i >= item % 8) break;
          x += 10;
        } else {
          if (i > 4) {
            if (item < 20) break;
            x += 1000;
          }
          x += 3;
        }
        x += 1000;
        if (i === 9) break;
      }
      return [x];
    },
  },
  {
    name: 'loops in loops, each left at its own time',
    body: ({ item, few }) => {
      const x = cell('u32', 0);
      loop(item.rem(5).add(1), (i) => {
        const inner = cell('u32', i);
        loop(8, (j) => {
          breakWhen(j.gt(item.and(3)));
          inner.set(inner.add(j));
          whileTrue(
            () => inner.and(1).eq(1),
            () => {
              inner.set(inner.add(few));
              breakWhen(inner.gt(40));
            },
          );
        });
        x.set(x.mul(3).add(inner));
        breakWhen(x.gt(500));
      });
      return [x.get()];
    },
    expected: (item) => {
      let x = 0;
      for (let i = 0; i < (item % 5) + 1; i++) {
        let inner = i;
        for (let j = 0; j < 8; j++) {
          if (j > item % 4) break;
          inner += j;
          while (inner % 2 === 1) {
            inner += 3;
            if (inner > 40) break;
          }
        }
        x = 3 * x + inner;
        if (x > 500) break;
      }
      return [x];
    },
  },
  {
    name: 'a constant break, and a loop whose body is only a break',
    body: ({ item, few }) => {
      const x = cell('u32', 0);
      loop(5, () => {
        x.set(x.add(1));
        breakWhen(few.eq(few));
        x.set(x.add(50));
      });
      loop(item, (i) => breakWhen(i.eq(2)));
      loop(4, (i) => {
        breakWhen(i.lt(0));
        x.set(x.add(item));
      });
      return [x.get()];
    },
    expected: (i) => [1 + 4 * i],
  },
  {
    // Once the last item of a gang has left, nothing more may be read: the next index is out of bounds.
    name: 'what follows a break is not done when every item has left',
    body: ({ item, threes }) => {
      const five = table('u32', [10, 11, 12, 13, 14]);
      const x = cell('u32', 0);
      loop(1000, (i) => {
        breakWhen(i.add(item.rem(3)).ge(5));
        x.set(x.add(five.at(i)).add(threes.at(i.mul(20))));
      });
      const y = cell('u32', 0);
      const at = cell('u32', 0);
      whileTrue(
        () => five.at(at).gt(0),
        () => {
          y.set(y.add(1));
          breakWhen(at.eq(4).or(y.gt(item)));
          at.set(at.add(1));
        },
      );
      const z = cell('u32', 0);
      loop(1000, (i) => {
        when(item.gt(7), () => breakWhen(i.eq(5))).otherwise(() => breakWhen(i.eq(2)));
        z.set(z.add(five.at(i)));
      });
      return [x.get(), y.get(), z.get()];
    },
    expected: (item) => {
      let x = 0;
      for (let i = 0; i + (item % 3) < 5; i++) x += 10 + i + 60 * i;
      return [x, Math.min(5, item + 1), item > 7 ? 60 : 21];
    },
  },
];
