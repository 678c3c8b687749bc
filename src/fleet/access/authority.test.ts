import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { Authority } from './authority.js';
import { type FleetUser, Users } from './users.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-access-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a fleet has the same keys when it is opened again', async () => {
  const first = await Authority.open(folder, 'a');
  expect((await Authority.open(folder, 'a')).account).toBe(first.account);
});

test('keys in a damaged file are refused with its path', async () => {
  const damaged = mkdtempSync(join(folder, 'damaged-'));
  await Authority.open(damaged, 'a');
  writeFileSync(join(damaged, 'keys.json'), '{ "operator": 5 }');
  await expect(Authority.open(damaged, 'a')).rejects.toThrow(`the file ${join(damaged, 'keys.json')}`);
});

test('users and revocations outlast a restart; a user that has expired is forgotten, unless it was revoked and a job names it', () => {
  const path = join(folder, 'some-users.json');
  const users = new Users(path, 0);
  const worker: FleetUser = { name: 'worker', role: 'worker', key: 'U1', expires: 1000, isTrusted: true };
  const revoked: FleetUser = { name: 'revoked', role: 'submitter', key: 'U2', expires: 2000, revoked: 50 };
  const isNamed = (name: string) => name === 'revoked';
  users.add(worker, 10, isNamed);
  users.add(revoked, 10, isNamed);
  expect([...new Users(path, 500).all]).toEqual([worker, revoked]);
  expect([...new Users(path, 1000).all]).toEqual([revoked]);
  expect(users.reload('worker')).toEqual(worker);
  expect(users.reload('other')).toBeUndefined();
  const again: FleetUser = { ...worker, name: 'revoked', expires: 5000 };
  expect(() => new Users(path, 500).add(again, 500, () => false)).toThrow(/it was revoked/);
  expect([...new Users(path, 3000).all]).toEqual([revoked]);
  expect(() => new Users(path, 3000).add(again, 3000, isNamed)).toThrow(/it was revoked/);
  new Users(path, 3000).add(again, 3000, () => false);
  expect([...new Users(path, 3000).all]).toEqual([again]);
});
