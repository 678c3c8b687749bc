import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { between } from '../../engine/work/space.js';
import { decodeRecord, encodeRecord, type FleetRecord } from './records.js';

const job = 'ab'.repeat(32);
const hit = { index: 7n, fields: { last: 3 } };
const plain: FleetRecord = {
  kind: 'commit',
  entries: [{ job, ranges: [between(0n, 1n << 127n)], hits: [hit], early: [] }],
  changes: [{ scope: job, key: 'did.anna.0', value: '10' }],
};
const reopening: FleetRecord = {
  ...plain,
  entries: [...plain.entries, { job, reopened: [between(5n, 1n << 100n)], ranges: [], hits: [], early: [hit] }],
};
const textOf = (record: FleetRecord): string => inflateRawSync(encodeRecord(record)).toString();

test('records are read back as they were', () => {
  for (const record of [plain, reopening]) expect(decodeRecord(encodeRecord(record))).toEqual(record);
});

test('a commit that reopens nothing is one that earlier coordinators read, and another one is refused by them', () => {
  expect(textOf(plain)).toContain('"version":1');
  expect(textOf(plain)).not.toContain('reopened');
  expect(textOf(reopening)).toContain('"version":2');
});

test('records of a later version are refused', () => {
  const later = deflateRawSync(textOf(plain).replace('"version":1', '"version":3'));
  expect(() => decodeRecord(later)).toThrow(/its version is 3, expected 1 or 2/);
});
