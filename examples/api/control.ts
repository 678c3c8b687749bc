// # Branch, repeat, remember
//
// JavaScript's own `if` and `for` run while a kernel is traced. At run time `when` and `choose` branch, `loop` and
// `whileTrue` repeat, `breakWhen` leaves a loop, `cell` is a variable, `select` picks one of two values, `table` is an
// array of constants.

import assert from 'node:assert';
import { between, breakWhen, cell, choose, items, loop, search, select, table, u32, when, whileTrue } from 'millrace';

// The number of steps that Collatz's rule takes from n to 1.
const collatz = items('collatz', { hit: { steps: u32 } }, ({ index, emit }) => {
  const [n, steps] = [cell(u32, index.lo), cell(u32, 0)];
  whileTrue(
    () => n.get().gt(1),
    () => {
      n.set(select(n.get().and(1).eq(0), n.get().shr(1), n.get().mul(3).add(1)));
      steps.set(steps.get().add(1));
    },
  );
  when(steps.get().eq(111), () => emit({ steps: steps.get() }));
});
const first = await search(collatz, { devices: 'wasm', space: between(1n, 100n) }).first();
assert.equal(first?.index, 27n); // 27 takes 111 steps

// The first prime divisor of n among six, by a loop over a table; `choose` runs the branch that emits it.
const divisors = items('divisors', { hit: { prime: u32 } }, ({ index, emit }) => {
  const primes = table(u32, [2, 3, 5, 7, 11, 13]);
  const found = cell(u32, 6);
  loop(6, (i) => {
    when(index.lo.rem(primes.at(i)).eq(0), () => found.set(i));
    breakWhen(found.get().lt(6));
  });
  choose(select(found.get().lt(6), found.get(), 6), [
    ...Array.from({ length: 6 }, (_, i) => () => emit({ prime: primes.at(i) })),
    () => undefined,
  ]);
});
const found: number[] = [];
for await (const { prime } of search(divisors, { devices: 'wasm', space: between(34n, 38n) })) found.push(prime);
assert.deepEqual(found, [2, 5, 2]); // of 34, 35 and 36; 37 has none
