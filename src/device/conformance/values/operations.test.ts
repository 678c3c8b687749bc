import { expect, test } from 'vitest';
import { ops, type PureOp } from '../../../kernel/ir/ops.js';
import { operations, operationsOf } from './operations.js';

test('every operation of the language is one of the suite, or is in one by another name', () => {
  const byAnotherName: readonly PureOp[] = ['cast', 'bits', 'carry', 'borrow', 'lookup', 'logic3', 'any'];
  const missing = (Object.keys(ops) as PureOp[]).filter((op) => operationsOf(op).length === 0);
  expect(missing.sort()).toEqual([...byAnotherName].sort());
  // Conversions; limbs with carries. Look-ups have cases of their own; passes make the last two.
  for (const name of ['to.f32.u64', 'bits.u32.f32', 'sumOut.u32', 'differenceOut.u64'])
    expect(operations.map((one) => one.name)).toContain(name);
});
