import { expect, test } from 'vitest';
import { blame, faultOf, HEALTHY, praise, type Trouble } from './fault-rate.js';

const after = (...troubles: Trouble[]) => troubles.reduce(blame, HEALTHY);

test('one missed answer, three wrong ones, three errors or stalls in a row', () => {
  expect(faultOf(HEALTHY)).toBeUndefined();
  expect(faultOf(after('missed'))).toBe('missed');
  for (const trouble of ['wrong', 'failed', 'stalled'] as const) {
    expect(faultOf(after(trouble, trouble))).toBeUndefined();
    expect(faultOf(after(trouble, trouble, trouble))).toBe(trouble);
  }
  expect(faultOf(after('wrong', 'failed', 'stalled', 'wrong', 'failed', 'stalled'))).toBeUndefined();
});

test('a chunk that ends well breaks a row of errors, not of wrong results', () => {
  const again = praise(after('failed', 'failed', 'wrong', 'wrong'), 10);
  expect(faultOf(blame(again, 'failed'))).toBeUndefined();
  expect(faultOf(blame(again, 'wrong'))).toBe('wrong');
});

test('a thousand right results make up for a wrong one, and are not saved up before', () => {
  const saved = praise(HEALTHY, 5000);
  expect(faultOf(blame(blame(blame(saved, 'wrong'), 'wrong'), 'wrong'))).toBe('wrong');
  let health = after('wrong', 'wrong');
  for (let chunk = 0; chunk < 9; chunk++) health = praise(health, 100);
  expect(health.wrong).toBe(2);
  health = praise(health, 100);
  expect(health.wrong).toBe(1);
  expect(praise(health, 2500)).toMatchObject({ wrong: 0 });
});
