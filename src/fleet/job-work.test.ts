import { expect, test } from 'vitest';
import { expectedHits, roundsKernel } from '../../test/fleet/fleet.js';
import { between } from '../engine/work/space.js';
import { jobWork } from './job-work.js';
import { packKernelJob } from './manifest/index.js';

const [SPACE, LIMIT, WEAKER, ROUNDS] = [200, 2 ** 28, 2 ** 30, 8];

test("a job's own hits are not witnesses, and witnesses meet the weaker limit", async () => {
  const { manifest, attachments } = packKernelJob(
    { kernel: roundsKernel(ROUNDS), job: { limit: LIMIT }, buffers: {}, witness: { limit: WEAKER } },
    between(0n, BigInt(SPACE)),
    'all',
  );
  const work = jobWork(manifest, attachments, []);
  const hits = expectedHits(SPACE, LIMIT, ROUNDS);
  const all = expectedHits(SPACE, WEAKER, ROUNDS).map(({ index, last }) => ({ index, fields: { last } }));
  const witnesses = all.filter(({ index }) => !hits.some((hit) => hit.index === index));
  expect([hits.length, witnesses.length].every((count) => count > 5)).toBe(true);
  expect(await work.checkWitnesses(witnesses, 0)).toBeUndefined();
  const hit = hits[3]!;
  const wrong = [...witnesses, { index: hit.index, fields: { last: hit.last } }];
  expect(await work.checkWitnesses(wrong, 0)).toBe(`index ${hit.index} is a hit, and was reported as a witness`);
  expect(await work.checkWitnesses([{ ...witnesses[0]!, fields: { last: 1 } }], 0)).toMatch(/index/);
});
