import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { between } from '../../engine/work/space.js';
import { digestOf } from '../encoding.js';
import { Connection } from './connection.js';
import { Ledger } from './ledger.js';

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'millrace-reopen-'));
  folders.push(made);
  return made;
};
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const LENGTH = 60;
/** Several hits of one index too. */
const hitsOf = (index: number): number => (index % 7 === 3 ? 1 + (index % 2) : 0);
const opening = (name: string) => ({
  key: digestOf(name),
  name,
  command: 'run',
  params: { name },
  space: between(0n, BigInt(LENGTH)),
  call: { args: ['run'], folder: '/' },
});
const span = fc
  .tuple(fc.nat(LENGTH), fc.nat(LENGTH))
  .map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)]);
/** Ranges are done and reopened; now and then the machine crashes. */
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('do' as const), span }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('reopen' as const), spans: fc.array(span, { maxLength: 4 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const) }) },
  ),
  { maxLength: 30 },
);

/** The runs of equal flags that are set. */
function runsOf(flags: readonly boolean[]): [number, number][] {
  const runs: [number, number][] = [];
  flags.forEach((isSet, at) => {
    const last = runs.at(-1);
    if (isSet && last?.[1] === at) last[1]++;
    else if (isSet) runs.push([at, at + 1]);
  });
  return runs;
}

/** Copies the files as they are to a new folder, as after a crash of the machine that had them open. */
function copyOf(place: string): string {
  const copy = folder();
  for (const name of readdirSync(place).filter((name) => /^ledger/.test(name) && !name.endsWith('-shm')))
    writeFileSync(join(copy, name), readFileSync(join(place, name)));
  return copy;
}

describe('ranges that are reopened', () => {
  it('are not done any more, and their hits stay: as in a table of all indices, also after crashes', () => {
    fc.assert(
      fc.property(steps, (given) => {
        let ledger = new Ledger(folder());
        let { id } = ledger.begin(opening('a')).job;
        const done = Array.from({ length: LENGTH }, () => false);
        const found = new Set<number>();
        for (const step of given) {
          if (step.kind === 'do') {
            const [start, end] = step.span;
            const fresh = runsOf(done.map((isDone, at) => !isDone && at >= start && at < end));
            const indices = fresh.flatMap(([from, to]) => Array.from({ length: to - from }, (_, at) => from + at));
            const hits = indices.flatMap((index) =>
              Array.from({ length: hitsOf(index) }, (_, nth) => ({ index: BigInt(index), nth, fields: '{}' })),
            );
            ledger.commit(id, {
              done: fresh.map(([from, to]) => ({
                start: BigInt(from),
                end: BigInt(to),
                hits: hits.filter(({ index }) => index >= from && index < to).length,
              })),
              ...{ hits, notified: [], elapsedMs: 1, devices: [] },
            });
            for (const index of indices) {
              done[index] = true;
              if (hitsOf(index) > 0) found.add(index);
            }
          } else if (step.kind === 'reopen') {
            const before = done.filter(Boolean).length;
            for (const [start, end] of step.spans) done.fill(false, start, end);
            const cut = ledger.reopen(
              id,
              step.spans.map(([start, end]) => between(BigInt(start), BigInt(end))),
            );
            expect(cut).toBe(BigInt(before - done.filter(Boolean).length));
          } else {
            const copy = copyOf(ledger.directory);
            ledger.close();
            ledger = new Ledger(copy);
            ({ id } = ledger.begin(opening('a')).job);
          }
          const { done: rows, hits } = ledger.progress(id);
          expect(rows.map(({ start, end }) => [Number(start), Number(end)])).toEqual(runsOf(done));
          for (const { start, end, hits: count } of rows)
            expect(count).toBe(hits.filter(({ index }) => index >= start && index < end).length);
          expect(new Set(hits.map(({ index }) => Number(index)))).toEqual(found);
          expect(hits.length).toBe([...found].reduce((sum, index) => sum + hitsOf(index), 0));
        }
        expect(ledger.notices()).toEqual([]);
        ledger.close();
      }),
      { numRuns: byTier(8, 60, 3000) },
    );
  });

  it('belong to one job', () => {
    const ledger = new Ledger(folder());
    const [a, b] = ['a', 'b'].map((name) => ledger.begin(opening(name)).job.id) as [string, string];
    for (const id of [a, b])
      ledger.commit(id, {
        done: [{ start: 0n, end: 60n, hits: 0 }],
        ...{ hits: [], notified: [], elapsedMs: 1, devices: [] },
      });
    expect(ledger.reopen(a, [between(10n, 20n), between(15n, 30n)])).toBe(20n);
    expect(() => ledger.end(a, 'complete')).toThrow('40 of 60 indices are done; 10 to 30 is missing');
    expect(ledger.progress(b).done).toEqual([{ start: 0n, end: 60n, hits: 0 }]);
    ledger.close();
  });

  it.each([
    ['a range was changed', "UPDATE done SET past = '9' || substr(past, 2)"],
    ['a hit is missing', 'DELETE FROM hits'],
  ])('are not reopened where the file is damaged: %s', (_, damage) => {
    const place = folder();
    const ledger = new Ledger(place);
    const { id } = ledger.begin(opening('a')).job;
    ledger.commit(id, {
      done: [{ start: 0n, end: 60n, hits: 1 }],
      ...{ hits: [{ index: 3n, nth: 0, fields: '{}' }], notified: [], elapsedMs: 1, devices: [] },
    });
    const other = new Connection(join(place, 'ledger.db'), 0);
    other.exec(damage);
    const before = other.all('SELECT first, past, hits FROM done');
    expect(() => ledger.reopen(id, [between(5n, 6n)])).toThrow(/checksum|missing/);
    expect(other.all('SELECT first, past, hits FROM done')).toEqual(before);
    other.close();
    ledger.close();
  });
});
