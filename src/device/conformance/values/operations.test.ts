import { expect, test } from 'vitest';
import { ops, type PureOp } from '../../../kernel/ir/ops.js';
import { operations, operationsOf } from './operations.js';

test('the suite covers every operation of the language, some under another name', () => {
  const byAnotherName: readonly PureOp[] = ['cast', 'bits', 'carry', 'borrow', 'lookup', 'logic3', 'any'];
  const missing = (Object.keys(ops) as PureOp[]).filter((op) => operationsOf(op).length === 0);
  expect(missing.sort()).toEqual([...byAnotherName].sort());
  // For cast, bits, carry and borrow. lookup has separate cases; passes generate logic3 and any.
  for (const name of ['to.f32.u64', 'bits.u32.f32', 'sumOut.u32', 'differenceOut.u64'])
    expect(operations.map((one) => one.name)).toContain(name);
});
