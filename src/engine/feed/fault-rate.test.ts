import { expect, test } from 'vitest';
import { type FaultKind, faultOf, NO_FAULTS, recordFault, recordOk } from './fault-rate.js';

const after = (...troubles: FaultKind[]) => troubles.reduce(recordFault, NO_FAULTS);

test('a device is faulty after one missed answer, three wrong ones, or three errors or stalls in a row', () => {
  expect(faultOf(NO_FAULTS)).toBeUndefined();
  expect(faultOf(after('missed'))).toBe('missed');
  for (const trouble of ['wrong', 'failed', 'stalled'] as const) {
    expect(faultOf(after(trouble, trouble))).toBeUndefined();
    expect(faultOf(after(trouble, trouble, trouble))).toBe(trouble);
  }
  expect(faultOf(after('wrong', 'failed', 'stalled', 'wrong', 'failed', 'stalled'))).toBeUndefined();
});

test('a successful chunk resets the count of errors, not of wrong results', () => {
  const again = recordOk(after('failed', 'failed', 'wrong', 'wrong'), 10);
  expect(faultOf(recordFault(again, 'failed'))).toBeUndefined();
  expect(faultOf(recordFault(again, 'wrong'))).toBe('wrong');
});

test('a thousand right results cancel one earlier wrong result, not a later one', () => {
  const saved = recordOk(NO_FAULTS, 5000);
  expect(faultOf(recordFault(recordFault(recordFault(saved, 'wrong'), 'wrong'), 'wrong'))).toBe('wrong');
  let health = after('wrong', 'wrong');
  for (let chunk = 0; chunk < 9; chunk++) health = recordOk(health, 100);
  expect(health.wrong).toBe(2);
  health = recordOk(health, 100);
  expect(health.wrong).toBe(1);
  expect(recordOk(health, 2500)).toMatchObject({ wrong: 0 });
});
