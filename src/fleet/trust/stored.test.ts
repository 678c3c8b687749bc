import { describe, expect, test } from 'vitest';
import { between } from '../../engine/work/space.js';
import { proofsOf, type Verdict } from './audit.js';
import { canaryKey, namesWorker, partKey, plainContribution, type StoredValues } from './stored.js';

describe('stored values name a worker', () => {
  const contribution = {
    ...{ worker: 'ann', range: between(5n, 9n), bits: undefined, hits: [], witnesses: [] },
  };
  const part = plainContribution(contribution);
  test.for<[what: string, key: string, value: StoredValues extends ReadonlyMap<string, infer T> ? T : never]>([
    ['whose ranges count', 'did.ann.5', '9'],
    ['that has agreed to ranges', 'agreed.ann.5', '9'],
    ['whose range waits for an audit', partKey(contribution), part],
    ['whose range is a canary', canaryKey(0), part],
  ])('%s', ([, key, value]) => {
    const values: StoredValues = new Map([
      ['audited', '3'],
      [key, value],
    ]);
    expect(['ann', 'an', 'ann.5', 'bob'].map((worker) => namesWorker(values, worker))).toEqual([
      ...[true, false, false, false],
    ]);
  });
});

test('a verdict proves those wrong who left out an index', () => {
  const verdict: Verdict = {
    ...{ contributor: 'ann', auditor: 'bob', contributorLacks: 7n, auditorLacks: undefined },
    ...{ evidence: 1, range: between(5n, 9n) },
  };
  const [ann, bob] = [7n, 8n].map((index) => `it left out what is at index ${index}`);
  expect(proofsOf(verdict)).toEqual([{ worker: 'ann', reason: ann }]);
  expect(proofsOf({ ...verdict, auditorLacks: 8n })).toEqual([
    { worker: 'ann', reason: ann },
    { worker: 'bob', reason: bob },
  ]);
  expect(proofsOf({ ...verdict, contributorLacks: undefined })).toEqual([]);
});
