import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { byTier, isLong } from '../../../test/tier.js';
import { between } from '../../engine/work/space.js';
import { digestOf } from '../encoding.js';
import { Connection, LedgerDamagedError } from './connection.js';
import { LedgerFile } from './file.js';
import { Ledger } from './ledger.js';

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'millrace-damage-'));
  folders.push(made);
  return made;
};
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const PAGE_BYTES = 4096;
const JOBS = ['a', 'b', 'c'];
const opening = (name: string) => ({
  key: digestOf(name),
  name,
  command: 'run',
  params: { name },
  space: between(0n, 100_000n),
  call: { args: ['run'], folder: '/' },
});
const isHit = (index: number): boolean => index % 37 === 5;
const fields = (index: number): string => `{"n":${index},"text":"${'y'.repeat(index % 50)}"}`;
// Every seventh piece is left out, so that ranges stay separate.
const PIECES = [...Array(60).keys()].filter((piece) => piece % 7 !== 3);
const batch = (start: number, end: number) => {
  const hits = Array.from({ length: end - start }, (_, at) => start + at).filter(isHit);
  return {
    done: [{ start: BigInt(start), end: BigInt(end), hits: hits.length }],
    hits: hits.map((index) => ({ index: BigInt(index), nth: 0, fields: fields(index) })),
    notified: [],
    elapsedMs: 1,
    devices: [],
  };
};

/** Writes a ledger of all jobs, committed piece by piece. */
function writeLedger(place: string, isClosed: boolean): void {
  const ledger = new Ledger(place);
  for (const name of JOBS) {
    const { id } = ledger.begin(opening(name)).job;
    for (const piece of PIECES) ledger.commit(id, batch(piece * 100, piece * 100 + 100));
    if (isClosed) ledger.end(id, 'open');
  }
  if (isClosed) ledger.close();
}

/** Copies the files as they are to a new folder, as after a crash of the machine that had them open. */
function copyOf(place: string): string {
  const copy = folder();
  for (const name of readdirSync(place).filter((name) => /^ledger/.test(name) && !name.endsWith('-shm'))) {
    writeFileSync(join(copy, name), readFileSync(join(place, name)));
  }
  return copy;
}

/** The content of a ledger as text. */
function contentOf(ledger: Ledger): string {
  const jobs = JOBS.flatMap((name) => ledger.jobs().filter(({ job }) => job.key === digestOf(name)));
  const text = jobs.flatMap(({ job: { id, name, params, space } }) => {
    const { done, hits } = ledger.progress(id);
    return [
      `${name} ${JSON.stringify(params)} ${space.start} ${space.length}`,
      ...done.map(({ start, end, hits: found }) => `${start} ${end} ${found}`),
      ...hits.map(({ index, nth, fields: values }) => `${index} ${nth} ${values}`),
    ];
  });
  return text.join('\n');
}

/** The content of the ledger after each commit, as `contentOf` returns it, from empty to complete. */
const committed = ((): readonly string[] => {
  const states = [''];
  let before = '';
  for (const name of JOBS) {
    const head = `${before}${before && '\n'}${name} {"name":"${name}"} 0 100000`;
    states.push(head);
    const ranges: [number, number][] = [];
    for (const piece of PIECES) {
      const last = ranges.at(-1);
      if (last?.[1] === piece * 100) last[1] += 100;
      else ranges.push([piece * 100, piece * 100 + 100]);
      const hits = ranges.map(([start, end]) => batch(start, end).hits);
      states.push(
        [
          head,
          ...ranges.map(([start, end], at) => `${start} ${end} ${hits[at]?.length}`),
          ...hits.flat().map(({ index, fields: values }) => `${index} 0 ${values}`),
        ].join('\n'),
      );
    }
    before = states.at(-1) ?? '';
  }
  return states;
})();
const all = committed.at(-1);
const isCommitted = new Set(committed);

const asides = (place: string): string[] => readdirSync(place).filter((name) => /^ledger-damaged.*\.db$/.test(name));

/**
 * Opens a ledger. Either it is set aside unchanged with a notice, and the new one is empty; or it has the content after
 * some commit, and all of it unless a notice says that something is missing.
 */
function outcomeOf(place: string): 'set aside' | 'missing' | 'whole' {
  const before = new Map(readdirSync(place).map((name) => [name, readFileSync(join(place, name))]));
  const ledger = new Ledger(place);
  const notices = ledger.notices();
  const content = contentOf(ledger);
  // It can be written to in every case.
  const { id } = ledger.begin(opening('another')).job;
  ledger.commit(id, batch(0, 100));
  expect(ledger.progress(id).hits.length).toBe(3);
  ledger.close();
  if (asides(place).length > 0) {
    expect(content).toBe('');
    expect(notices).toEqual([expect.stringMatching(/is damaged \(.+\)\. It was set aside as .+ledger-damaged-1\.db /)]);
    for (const part of ['', '-wal']) {
      const kept = join(place, `ledger-damaged-1.db${part}`);
      const bytes = before.get(`ledger.db${part}`);
      // SQLite creates an empty log if there was none.
      const none = Buffer.alloc(0);
      expect((existsSync(kept) ? readFileSync(kept) : none).equals(bytes ?? none)).toBe(true);
    }
    return 'set aside';
  }
  expect(isCommitted.has(content)).toBe(true);
  if (notices.length === 0) expect(content).toBe(all);
  else expect(notices).toEqual([expect.stringMatching(/the last \d+ writes .* are missing|is missing: a new one/)]);
  return notices.length === 0 ? 'whole' : 'missing';
}

/** The bytes of a log that are in use. Frames of the previous round remain after them. */
function liveBytes(log: Buffer): number {
  const salt = log.subarray(16, 24);
  let at = 32;
  while (at < log.length && log.subarray(at + 8, at + 16).equals(salt)) at += 24 + PAGE_BYTES;
  return at;
}

function change(path: string, edit: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  edit(bytes);
  writeFileSync(path, bytes);
}

describe('a damaged ledger', () => {
  const closed = folder();
  writeLedger(closed, true);
  const open = folder();
  writeLedger(open, false); // with everything in its log

  it('is intact before it is damaged', () => {
    for (const place of [closed, open]) expect(outcomeOf(copyOf(place))).toBe('whole');
  });

  it('is set aside or has the content after some commit, with bytes changed anywhere', () => {
    const counts = { 'set aside': 0, missing: 0, whole: 0 };
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
        change(join(place, isClosed ? 'ledger.db' : 'ledger.db-wal'), (bytes) => {
          // The first page holds the schema, so it is damaged more often.
          const first = Math.floor(at * (isFirst ? PAGE_BYTES : bytes.length));
          bytes.fill(byte, first, Math.min(bytes.length, first + length));
        });
        counts[outcomeOf(place)]++;
        rmSync(place, { recursive: true });
      }),
      {
        numRuns: byTier(15, 40, 2000),
        // Bytes 61 to 572 of the file. SQLite reported "unsupported file format", which was not recognized as damage
        // (found by seed -543306060).
        examples: [[{ isClosed: true, isFirst: true, at: 61 / PAGE_BYTES, length: 512, byte: 5 }]],
      },
    );
    expect(counts['set aside']).toBeGreaterThan(5);
    expect(counts.missing).toBeGreaterThan(2);
  });

  it('is set aside or intact with any field of its header changed', () => {
    // Offsets from SQLite's file format, section 1.3. 44: schema format; 60: our version; 68: application ID.
    const fieldsAt = [0, 16, 18, 19, 20, 21, 28, 32, 36, 40, 44, 47, 52, 56, 60, 63, 68, 92];
    for (const at of isLong ? Array(100).keys() : fieldsAt) {
      for (const byte of isLong ? [0, 1, 2, 5, 127, 255] : [5]) {
        const place = copyOf(closed);
        change(join(place, 'ledger.db'), (bytes) => bytes.fill(byte, at, at + 1));
        expect([at, byte, outcomeOf(place)]).toEqual([at, byte, expect.stringMatching('set aside|whole')]);
        rmSync(place, { recursive: true });
      }
    }
  });

  it.each([0, 1, 31, 32, 1000, 100_000, 'all but a byte', 'all but a frame'] as const)(
    'has the remaining commits if its log is cut to %s',
    (length) => {
      const place = copyOf(open);
      const log = join(place, 'ledger.db-wal');
      const size = liveBytes(readFileSync(log));
      truncateSync(log, length === 'all but a byte' ? size - 1 : length === 'all but a frame' ? size - 4120 : length);
      expect(outcomeOf(place)).toBe('missing');
    },
  );

  it.each(['ledger.db-wal', 'ledger.db'])('is reported if %s is missing', (name) => {
    const place = copyOf(open);
    const log = readFileSync(join(place, 'ledger.db-wal'));
    rmSync(join(place, name));
    const ledger = new Ledger(place);
    expect(ledger.notices().join()).toMatch(name === 'ledger.db' ? 'is missing: a new one' : 'are missing');
    expect(isCommitted.has(contentOf(ledger))).toBe(true);
    ledger.close();
    // A log without its ledger is kept.
    if (name === 'ledger.db') expect(readFileSync(join(place, 'ledger-damaged-1.db-wal')).equals(log)).toBe(true);
  });

  it('is set aside for a changed value that SQLite does not detect, and reported once', () => {
    const place = copyOf(closed);
    change(join(place, 'ledger.db'), (bytes) => {
      const at = bytes.indexOf(fields(5));
      expect(at).toBeGreaterThan(0);
      bytes.write('6', at + 5);
    });
    const damaged = readFileSync(join(place, 'ledger.db'));
    const ledger = new Ledger(place);
    expect(ledger.notices()).toEqual([expect.stringContaining('a hit of job')]);
    expect(ledger.jobs()).toEqual([]);
    ledger.close();
    const again = new Ledger(place);
    expect([again.notices(), again.jobs()]).toEqual([[], []]);
    again.close();
    expect(asides(place)).toEqual(['ledger-damaged-1.db']);
    expect(readFileSync(join(place, 'ledger-damaged-1.db')).equals(damaged)).toBe(true);
  });

  it('is set aside beside earlier ones, and beside those that version 0.1.0 left in place', () => {
    const place = copyOf(closed);
    cpSync(join(place, 'ledger.db'), join(place, 'ledger-2.db'));
    writeFileSync(join(place, 'ledger-damaged-1.db'), 'an earlier one');
    for (const name of ['ledger.db', 'ledger-2.db']) change(join(place, name), (bytes) => bytes.fill(7, 0, 100));
    appendFileSync(join(place, 'ledger-2.db'), 'the newest');
    const ledger = new Ledger(place);
    expect(ledger.notices()).toEqual([expect.stringMatching(/ledger-2\.db is damaged .* as .*ledger-damaged-3\.db/)]);
    expect(ledger.jobs()).toEqual([]);
    ledger.close();
    expect(asides(place)).toEqual([1, 2, 3].map((number) => `ledger-damaged-${number}.db`));
    expect(readFileSync(join(place, 'ledger-damaged-3.db')).subarray(-10).toString()).toBe('the newest');
  });

  it('stays in place while it is open elsewhere, and is set aside afterwards', () => {
    const place = copyOf(closed);
    const [other, ledger] = [new Ledger(place), new Ledger(place)];
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec("UPDATE done SET mark = 'x'");
    connection.close();
    expect(() => ledger.begin(opening('a'))).toThrow('another process is using it');
    expect(asides(place)).toEqual([]);
    expect(() => ledger.jobs()).toThrow('a range of job');
    other.close();
    expect(ledger.jobs()).toEqual([]);
    expect(ledger.notices()).toEqual([expect.stringContaining('set aside')]);
    ledger.close();
    expect(asides(place)).toEqual(['ledger-damaged-1.db']);
  });

  it('that another process has set aside meanwhile is not mistaken for the new one', () => {
    const place = copyOf(closed);
    const files = [0, 1].map(() => LedgerFile.open(place, () => undefined));
    const suspects = files.map((file) => file.closeDamaged(new LedgerDamagedError('seen by both')));
    const opened = suspects.map((suspect) => LedgerFile.open(place, () => undefined, suspect));
    expect(opened.map(({ notices }) => notices.length)).toEqual([1, 0]);
    expect(asides(place)).toEqual(['ledger-damaged-1.db']);
    for (const file of opened) file.close();
    LedgerFile.open(place, () => undefined, suspects[0]).close();
    expect(asides(place)).toEqual(['ledger-damaged-1.db']);
  });

  it('that is too large to check row by row is set aside after a write meets the damage', () => {
    const place = folder();
    const ledger = new Ledger(place);
    const { id } = ledger.begin(opening('a')).job;
    const values = `{"text":"${'x'.repeat(3000)}"}`;
    const hits = Array.from({ length: 1500 }, (_, at) => ({ index: BigInt(at), nth: 0, fields: values }));
    ledger.commit(id, { ...batch(0, 100), done: [{ start: 2000n, end: 5000n, hits: 0 }], hits });
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec("UPDATE done SET mark = 'x'; PRAGMA wal_checkpoint(TRUNCATE)");
    connection.close();
    expect(statSync(join(place, 'ledger.db')).size).toBeGreaterThan(4 * 2 ** 20);
    expect(() => ledger.commit(id, batch(5000, 5100))).toThrow(LedgerDamagedError);
    ledger.close();
    const last = new Ledger(place);
    expect(last.notices()).toEqual([expect.stringContaining('set aside')]);
    last.close();
  });
});
