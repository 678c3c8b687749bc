// Numbers up to 100,000 that take 300 steps or more to reach 1: halve an even number, triple an odd one and add 1.

import { cell, items, u32, when, whileTrue } from 'millrace';

const collatz = items('collatz', { job: { least: u32 }, hit: { steps: u32 } }, ({ job, index, emit }) => {
  const [n, steps] = [cell(u32, index.lo.add(1)), cell(u32, 0)];
  whileTrue(
    () => n.ne(1).and(steps.lt(1000)),
    () => {
      when(n.and(1).eq(0), () => n.set(n.shr(1))).otherwise(() => n.set(n.mul(3).add(1)));
      steps.set(steps.add(1));
    },
  );
  when(steps.ge(job.least), () => emit({ steps }));
});

export default { kernel: collatz, job: { least: 300 }, space: 100_000 };
