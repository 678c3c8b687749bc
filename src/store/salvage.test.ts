import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Intervals } from '../engine/intervals.js';
import { between } from '../engine/space.js';
import { Connection } from './connection.js';
import { Ledger } from './ledger.js';
import { PAGE_BYTES, rowsInDatabase, rowsInLog } from './pages.js';
import { TABLES, type TableName } from './rows.js';
import { digestOf } from './text.js';

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'millrace-salvage-'));
  folders.push(made);
  return made;
};
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const JOBS = ['a', 'b', 'c'];
const opening = (name: string) => ({
  key: digestOf(name),
  name,
  command: 'run',
  // Longer than a page: rows that go on elsewhere are read, too.
  params: { name, long: 'x'.repeat(name === 'b' ? 9000 : 10) },
  space: between(0n, 100_000n),
  call: { args: ['run'], folder: '/' },
});
const isHit = (index: number): boolean => index % 37 === 5;
const fields = (index: number): string => `{"n":${index},"text":"${'y'.repeat(index % 50)}"}`;

/** A ledger with some hundred ranges and hits, as files: everything that is in it is true by `isHit`. */
function writeLedger(place: string, isClosed: boolean): Map<string, Intervals> {
  const ledger = new Ledger(place);
  const truth = new Map<string, Intervals>();
  for (const name of JOBS) {
    const { id } = ledger.begin(opening(name)).job;
    let done = Intervals.none;
    for (let piece = 0; piece < 60; piece++) {
      // Every seventh is left out, so that ranges stay apart.
      if (piece % 7 === 3) continue;
      const [start, past] = [piece * 100, piece * 100 + 100];
      const hits = Array.from({ length: 100 }, (_, at) => start + at).filter(isHit);
      ledger.commit(id, {
        done: [{ start: BigInt(start), past: BigInt(past), hits: hits.length }],
        hits: hits.map((index) => ({ index: BigInt(index), nth: 0, fields: fields(index) })),
        told: [],
        elapsedMs: 1,
        devices: [],
      });
      done = done.add(between(BigInt(start), BigInt(past)));
    }
    truth.set(id, done);
    if (isClosed) ledger.end(id, 'open');
  }
  if (isClosed) ledger.close();
  return truth;
}

/** The files as they lie there, given to a new folder: as after a crash of the machine that had them open. */
function copyOf(place: string): string {
  const copy = folder();
  for (const name of readdirSync(place).filter((name) => /^ledger/.test(name) && !name.endsWith('-shm'))) {
    writeFileSync(join(copy, name), readFileSync(join(place, name)));
  }
  return copy;
}

/** What a ledger says must be true, and what it does not say is scanned again. */
function checkTrue(ledger: Ledger, truth: ReadonlyMap<string, Intervals>): { indices: bigint; hits: number } {
  let indices = 0n;
  let kept = 0;
  for (const name of JOBS) {
    const { job, progress } = ledger.begin(opening(name));
    const had = truth.get(job.id) ?? Intervals.none;
    const found = new Set(progress.hits.map(({ index }) => Number(index)));
    expect(found.size).toBe(progress.hits.length);
    for (const { index, fields: text } of progress.hits) {
      expect(isHit(Number(index)) && text === fields(Number(index))).toBe(true);
    }
    for (const { start, past } of progress.done) {
      expect(had.has(between(start, past))).toBe(true);
      for (let index = Number(start); index < Number(past); index++) {
        if (isHit(index)) expect(found.has(index)).toBe(true);
      }
      indices += past - start;
    }
    kept += found.size;
    ledger.end(job.id, 'open');
  }
  return { indices, hits: kept };
}

const whole = {
  indices: 3n * 5100n,
  hits: 3 * [...Array(6000).keys()].filter((at) => isHit(at) && Math.floor(at / 100) % 7 !== 3).length,
};

describe('pages', () => {
  it.each(['in the file', 'in the log'])('give the rows that SQLite gives, %s', (where) => {
    const place = folder();
    writeLedger(place, where === 'in the file');
    const from = copyOf(place);
    const file = readFileSync(join(from, 'ledger.db'));
    const log = existsSync(join(from, 'ledger.db-wal')) ? readFileSync(join(from, 'ledger.db-wal')) : Buffer.alloc(0);
    expect(where === 'in the file' ? log.length === 0 : log.length > 100_000).toBe(true);
    const rows = [...rowsInDatabase(file), ...rowsInLog(log, file)].map((cells) => JSON.stringify(cells));
    const connection = new Connection(join(from, 'ledger.db'), 0);
    for (const table of Object.keys(TABLES) as TableName[]) {
      const { columns } = TABLES[table];
      const wanted = connection.all(`SELECT * FROM ${table}`);
      if (table !== 'tuning') expect(wanted.length).toBeGreaterThan(2);
      const texts = wanted.map((row) => JSON.stringify(columns.map((column) => row[column])));
      expect(texts.filter((text) => !rows.includes(text))).toEqual([]);
    }
    connection.close();
  });

  it('never throw, whatever is in them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 3 * PAGE_BYTES }), fc.boolean(), (bytes, isLeaf) => {
        if (isLeaf) for (let at = 0; at < bytes.length; at += PAGE_BYTES) bytes[at] = 13;
        for (const cells of [...rowsInDatabase(bytes), ...rowsInLog(bytes, bytes)]) expect(cells).toBeInstanceOf(Array);
      }),
      { numRuns: 300 },
    );
  });
});

/** How much of a log is of its present round: frames of the last round stay behind them. */
function liveBytes(log: Buffer): number {
  const salt = log.subarray(16, 24);
  let at = 32;
  while (at < log.length && log.subarray(at + 8, at + 16).equals(salt)) at += 24 + PAGE_BYTES;
  return at;
}

describe('a damaged ledger', () => {
  const closed = folder();
  const truth = writeLedger(closed, true);
  const open = folder();
  writeLedger(open, false); // with everything in its log

  it('is whole before anything is done to it', () => {
    for (const place of [closed, open]) {
      const ledger = new Ledger(copyOf(place));
      expect(ledger.notices()).toEqual([]);
      expect(checkTrue(ledger, truth)).toEqual(whole);
      ledger.close();
    }
  });

  it('is noticed, and says nothing that is not true: bytes changed anywhere', () => {
    let noticed = 0;
    let kept = 0;
    let runs = 0;
    const damage = fc.record({
      isClosed: fc.boolean(),
      isFirst: fc.integer({ min: 0, max: 5 }).map((one) => one === 0),
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      length: fc.constantFrom(1, 4, 64, 512, PAGE_BYTES, 4 * PAGE_BYTES),
      byte: fc.integer({ min: 0, max: 255 }),
    });
    fc.assert(
      fc.property(damage, ({ isClosed, isFirst, at, length, byte }) => {
        const place = copyOf(isClosed ? closed : open);
        const path = join(place, isClosed ? 'ledger.db' : 'ledger.db-wal');
        // The first page has the names of everything: it has its share of the damage.
        const first = Math.floor(at * (isFirst ? PAGE_BYTES : statSync(path).size));
        const bytes = readFileSync(path);
        bytes.fill(byte, first, Math.min(bytes.length, first + length));
        writeFileSync(path, bytes);
        const ledger = new Ledger(place);
        const { hits } = checkTrue(ledger, truth);
        const notices = ledger.notices();
        ledger.close();
        runs++;
        if (notices.length > 0) noticed++;
        kept += hits;
        // Unnoticed damage has cost nothing: it lies where nothing is written, or in what changes all the time.
        if (notices.length === 0) expect(hits).toBe(whole.hits);
        rmSync(place, { recursive: true });
      }),
      { numRuns: process.env.MILLRACE_LONG === '1' ? 2000 : 60 },
    );
    expect(noticed).toBeGreaterThan(runs / 10);
    // Most of what was there is kept: a page holds some 40 hits.
    expect(kept / runs).toBeGreaterThan(whole.hits / 2);
  });

  it.each([0, 1, 31, 32, 1000, 100_000, 'all but a byte', 'all but a frame'] as const)(
    'is noticed where its log is cut to %s',
    (length) => {
      const place = copyOf(open);
      const log = join(place, 'ledger.db-wal');
      const size = liveBytes(readFileSync(log));
      truncateSync(log, length === 'all but a byte' ? size - 1 : length === 'all but a frame' ? size - 4120 : length);
      const ledger = new Ledger(place);
      expect(ledger.notices().join()).toMatch(
        /damaged \((the last \d+ of its writes are missing|.*)\).* scanned again/,
      );
      const { hits } = checkTrue(ledger, truth);
      if (typeof length === 'string') expect(hits).toBeGreaterThan(whole.hits - 10);
      ledger.close();
    },
  );

  it('is noticed where its log is gone', () => {
    const place = copyOf(open);
    rmSync(join(place, 'ledger.db-wal'));
    const ledger = new Ledger(place);
    expect(ledger.notices().join()).toContain('is damaged');
    checkTrue(ledger, truth);
    ledger.close();
  });

  it('is noticed where it is gone itself', () => {
    const place = copyOf(closed);
    rmSync(join(place, 'ledger.db'));
    const ledger = new Ledger(place);
    expect(ledger.notices().join()).toContain('was here and is gone');
    expect(checkTrue(ledger, truth)).toEqual({ indices: 0n, hits: 0 });
    ledger.close();
  });

  it('is put right once, and the damaged file stays', () => {
    const place = copyOf(closed);
    const file = openSync(join(place, 'ledger.db'), 'r+');
    writeSync(file, Buffer.alloc(100, 7), 0, 100, 0);
    closeSync(file);
    const ledger = new Ledger(place);
    expect(ledger.notices().join()).toContain('were kept in ledger-2.db');
    expect(checkTrue(ledger, truth)).toEqual(whole);
    ledger.close();
    const again = new Ledger(place);
    expect(again.notices()).toEqual([]);
    expect(checkTrue(again, truth)).toEqual(whole);
    again.close();
    expect(readdirSync(place)).toEqual(expect.arrayContaining(['ledger.db', 'ledger-2.db']));
  });

  it('finds the rows of a job again whose own record is lost', () => {
    const place = copyOf(closed);
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec("UPDATE jobs SET mark = 'x' WHERE name = 'a'");
    connection.close();
    const ledger = new Ledger(place);
    expect(checkTrue(ledger, truth)).toEqual(whole);
    ledger.close();
  });

  it('scans again what has lost a hit, and keeps the others', () => {
    const place = copyOf(closed);
    const path = join(place, 'ledger.db');
    const bytes = readFileSync(path);
    const at = bytes.indexOf(fields(5));
    expect(at).toBeGreaterThan(0);
    bytes.fill(0, at, at + 3);
    writeFileSync(path, bytes);
    const ledger = new Ledger(place);
    // The range from 0 up to the first that was left out.
    expect(checkTrue(ledger, truth)).toEqual({ indices: whole.indices - 300n, hits: whole.hits - 1 });
    expect(ledger.notices().join()).toMatch(/a hit of job .* 1 ranges with missing hits/);
    ledger.close();
  });

  it('is left alone while another has it open', () => {
    const place = copyOf(closed);
    const other = new Ledger(place);
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec("UPDATE done SET mark = 'x'");
    connection.close();
    const ledger = new Ledger(place);
    expect(() => ledger.begin(opening('a'))).toThrow('another process is using it');
    other.close();
  });
});
