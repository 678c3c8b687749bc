import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { between } from '../../engine/work/space.js';
import { Connection } from './connection.js';
import { addHits, addRange, cutRanges, HitCounts, readHits, readRanges } from './progress.js';
import { migrate } from './schema.js';

const JOBS = ['a', 'b', 'c'];

/** Adds hits to a job, or removes the job's hits. */
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ job: fc.constantFrom(...JOBS), hits: fc.nat({ max: 6 }) }) },
  fc.record({ job: fc.constantFrom(...JOBS), hits: fc.constant(undefined) }),
);

test('hits are counted as SQLite counts them, and a page is part of all', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.nat({ max: 40 }), fc.nat({ max: 9 }), (steps, from, count) => {
      const connection = new Connection(':memory:', 0);
      try {
        migrate(connection);
        const counts = new HitCounts();
        let index = 0n;
        for (const { job, hits } of steps) {
          if (hits === undefined) connection.run('DELETE FROM hits WHERE job = ?', job);
          // Later hits have lower indices: the order of rows is not that of indices.
          else
            addHits(
              connection,
              job,
              listOf(hits, () => ({ index: 1000n - index++, nth: 0, fields: '{}' })),
              1,
            );
          for (const one of JOBS) {
            const n = connection.get('SELECT count(*) AS n FROM hits WHERE job = ?', one)?.n;
            expect(counts.of(connection, one)).toBe(Number(n));
          }
        }
        for (const job of JOBS) {
          const all = readHits(connection, job, { from: 0, count: 1000 });
          const part = readHits(connection, job, { from, count }, counts);
          expect(part).toEqual({ total: all.total, hits: all.hits.slice(from, from + count) });
        }
      } finally {
        connection.close();
      }
    }),
    { numRuns: byTier(15, 200) },
  );
});

test('pages of hits and neighbours of a range are read in the order of an index, whatever their number', () => {
  const connection = new RecordingConnection(':memory:', 0);
  try {
    migrate(connection);
    const hits = Array.from({ length: 20 }, (_, at) => ({ index: BigInt(at), nth: 0, fields: '{}' }));
    addHits(connection, 'a', hits, 1);
    connection.queries.length = 0;
    for (const from of [0, 15]) readHits(connection, 'a', { from, count: 5 });
    addRange(connection, 'a', { start: 0n, end: 9n, hits: 9 });
    addRange(connection, 'a', { start: 12n, end: 14n, hits: 2 });
    cutRanges(connection, 'a', [between(2n, 4n)]);
    readRanges(connection, 'a');
    const ordered = connection.queries.filter(({ sql }) => sql.includes('ORDER BY'));
    expect(ordered).toHaveLength(7);
    for (const { sql, values } of ordered) {
      const plan = connection.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail));
      expect(plan).toEqual([expect.stringMatching(/^SEARCH (hits|done) USING INDEX /)]);
    }
  } finally {
    connection.close();
  }
});

/** Remembers what was read. */
class RecordingConnection extends Connection {
  readonly queries: { readonly sql: string; readonly values: (string | number | null)[] }[] = [];

  override get(sql: string, ...values: (string | number | null)[]) {
    this.queries.push({ sql, values });
    return super.get(sql, ...values);
  }

  override all(sql: string, ...values: (string | number | null)[]) {
    this.queries.push({ sql, values });
    return super.all(sql, ...values);
  }
}

const listOf = <T>(length: number, make: () => T): T[] => Array.from({ length }, make);
