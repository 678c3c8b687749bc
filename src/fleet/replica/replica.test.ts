import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { FleetFiles, readIdentity } from './files.js';
import { StateFile } from './state-file.js';
import { SubmitterChecks } from './submitter-checks.js';

describe("a coordinator's files", () => {
  test('survive it, are private, and give each start a larger term', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-files-'));
    try {
      const first = new FleetFiles(folder);
      const bytes = Buffer.from('attached');
      first.savePart(bytes);
      first.saveJob('a'.repeat(64), Buffer.from('signed'));
      const second = new FleetFiles(folder);
      expect([first.startTerm(), new FleetFiles(folder).startTerm(), second.startTerm(7)]).toEqual([1, 2, 8]);
      expect(second).toMatchObject({ fleet: first.fleet, secret: first.secret });
      const digest = '5a8f6d4c3f6a6b2d1d0c4e5f'.padEnd(64, '0');
      expect(second.has(digest)).toBe(false);
      expect([...second.jobs()].map(([id, job]) => [id, String(job)])).toEqual([['a'.repeat(64), 'signed']]);
      second.removeJob('a'.repeat(64));
      expect(new FleetFiles(folder).jobs().size).toBe(0);
      expect(statSync(join(folder, 'fleet.json')).mode & 0o777).toBe(0o600);
      expect(statSync(folder).mode & 0o077).toBe(0);
      expect(() => second.part('../fleet.json')).toThrow(/digest/);
      expect(readIdentity(folder)?.term).toBe(8);
      writeFileSync(
        join(folder, 'fleet.json'),
        readFileSync(join(folder, 'fleet.json'), 'utf8').replace(/"term":8/, '"term":-1'),
      );
      expect(() => new FleetFiles(folder)).toThrow(/term is not/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('the state of a coordinator', () => {
  test('survives it, also if its last line was cut short, and does not grow for ever', () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-state-'));
    const path = join(folder, 'state.jsonl');
    try {
      const first = new StateFile(path);
      first.apply([
        { scope: 'job', key: 'paused', value: true },
        { scope: 'job', key: 'part.5', value: { range: ['5', '9'], last: 2n ** 70n } },
        { scope: 'workers', key: 'attic', value: { agreements: 3 } },
        { scope: 'over', key: 'paused', value: true },
      ]);
      first.apply([{ scope: 'job', key: 'paused', value: undefined }]);
      first.drop('over');
      first.close();
      const whole = readFileSync(path, 'utf8');
      const content = (state: StateFile) => ['job', 'workers', 'over'].map((scope) => [...state.scope(scope)]);
      const right = [[['part.5', { range: ['5', '9'], last: 2n ** 70n }]], [['attic', { agreements: 3 }]], []];
      for (const torn of ['', '{"key":"paused","sco']) {
        writeFileSync(path, whole + torn);
        const state = new StateFile(path);
        expect(content(state)).toEqual(right);
        state.apply([{ scope: 'job', key: 'paused', value: undefined }]);
        state.close();
      }
      const changed = new StateFile(path);
      const counts = Array.from({ length: 100 }, (_, value) => ({ scope: 'job', key: 'audited', value }));
      for (let times = 0; times < 110; times++) changed.apply(counts);
      changed.close();
      expect(statSync(path).size).toBeLessThan(1_000_000);
      expect(new StateFile(path).scope('job').get('audited')).toBe(99);
      expect(statSync(path).mode & 0o777).toBe(0o600);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('hits that a submitter checks', () => {
  const hits = [{ index: 3n, fields: {} }];

  test('wait for its word, one after the other', async () => {
    const checks = new SubmitterChecks();
    expect(await checks.check(hits)).toBeUndefined();
    checks.meet();
    const [first, second] = [checks.check(hits), checks.check(hits)];
    expect(checks.next).toMatchObject({ number: 1, hits });
    checks.answer(1, 'no');
    checks.answer(1, undefined);
    expect(await first).toBe('no');
    expect(checks.next?.number).toBe(2);
    checks.leave();
    expect(await second).toBeUndefined();
    expect(checks.next).toBeUndefined();
  });

  test('wait no longer when it is gone', async () => {
    vi.useFakeTimers();
    try {
      const checks = new SubmitterChecks();
      checks.meet();
      const waiting = checks.check(hits);
      await vi.advanceTimersByTimeAsync(10_000);
      checks.meet();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(checks.next).toBeDefined();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await waiting).toBeUndefined();
    } finally {
      vi.useRealTimers();
    }
  });
});
