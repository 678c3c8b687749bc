import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { between } from '../../engine/work/space.js';
import { digestOf } from '../encoding.js';
import { Connection } from './connection.js';
import type { ExportedJob } from './exchange.js';
import { Ledger } from './ledger.js';

const MUTATIONS = process.env.MILLRACE_LONG === '1' ? 20_000 : 300;

const folder = mkdtempSync(join(tmpdir(), 'millrace-exchange-'));
const ledger = new Ledger(folder);
afterAll(() => {
  ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

const opening = {
  key: digestOf('a job'),
  name: 'run a.ts',
  command: 'run',
  params: { every: 5, target: 1n << 70n, zero: -0, bytes: { $bytes: 'aa', kind: 'Uint8Array' } },
  space: between(0n, 1000n),
  call: { args: ['run', 'a.ts'], folder: '' },
};

/** An exported job with hits. The ledger no longer has it. */
const exported = ((): ExportedJob => {
  const { id } = ledger.begin(opening).job;
  ledger.commit(id, {
    done: [
      { start: 0n, end: 100n, hits: 3 },
      { start: 200n, end: 300n, hits: 0 },
    ],
    hits: [
      { index: 4n, nth: 0, fields: '{"n":{"$big":"5"},"list":[1,2,3]}' },
      { index: 4n, nth: 1, fields: '{"n":{"$float":"NaN"}}' },
      { index: 40n, nth: 0, fields: '{"n":7}' },
    ],
    notified: [],
    elapsedMs: 10,
    devices: ['wasm'],
  });
  ledger.end(id, 'open');
  const made = ledger.export(id);
  ledger.remove(id);
  return made;
})();
const text = JSON.stringify(exported, undefined, 1);
/** As version 0.1.0 wrote it: without a digest, only the rules of the format reveal a change. */
const { digest: _, ...undigested } = exported;

/** Returns what an import has added, and removes it. */
function takeOut(id: string): Omit<ExportedJob, 'elapsedMs' | 'devices' | 'digest'> {
  const { progress } = ledger.begin({ ...opening, ...ledger.find(id).job });
  ledger.end(id, 'open');
  const { elapsedMs: _elapsed, devices: _devices, digest: _digest, ...rest } = ledger.export(id);
  expect(progress.hits.length).toBe(rest.hits.length);
  expect([ledger.notices(), ledger.jobs().length]).toEqual([[], 1]);
  ledger.remove(id);
  return rest;
}
const { elapsedMs: _elapsed, devices: _devices, ...content } = undigested;

describe('an import', () => {
  it('accepts an export, and an export of version 0.1.0', () => {
    for (const given of [text, exported, JSON.stringify(undigested), undigested]) {
      const { id, indices, hits } = ledger.import(given);
      expect({ indices, hits }).toEqual({ indices: 200n, hits: 3 });
      expect(takeOut(id)).toEqual(content);
    }
  });

  it.each<[string, object, string]>([
    ['another format', { format: 'x' }, 'its format is "x"'],
    ['a later version', { version: 2 }, 'its version is 2'],
    ['an unknown member', { more: 1 }, 'the unknown member "more"'],
    ['no name', { name: undefined }, 'its name'],
    ['a name that is too long', { name: 'x'.repeat(100_000) }, 'too long'],
    ['params that are a list', { params: [] }, 'params are not an object'],
    ['a number of many digits', { params: { n: { $big: '9'.repeat(200_000) } } }, 'not a value of an export'],
    ['a range outside its space', { done: [['990', '1001']] }, 'outside its space'],
    ['an empty range', { done: [['9', '9']] }, 'is empty'],
    [
      'ranges that overlap',
      {
        done: [
          ['0', '10'],
          ['9', '20'],
        ],
      },
      'out of order',
    ],
    ['an index that is a number', { done: [[1, 2]] }, '1 is not an index'],
    ['a space beyond 2^128', { space: ['0', '9'.repeat(39)] }, 'not an index'],
    ['a hit outside its space', { hits: [{ index: '1000', nth: 0, fields: {}, foundMs: 1 }] }, 'outside its space'],
    ['a hit without values', { hits: [{ index: '1', nth: 0, foundMs: 1 }] }, 'no values'],
    ['a hit that is null', { hits: [null] }, 'null is not a hit'],
    ['a repeated hit', { hits: [1, 2].map(() => ({ index: '1', nth: 0, fields: {}, foundMs: 1 })) }, 'repeated'],
    ['an invalid number', { hits: [{ index: '1', nth: 0, fields: { n: { $big: 'x' } }, foundMs: 1 }] }, '"x"'],
    ['an invalid key', { key: 'abc' }, 'key'],
  ])('is refused with %s', (_name, change, message) => {
    expect(() => ledger.import({ ...undigested, ...change })).toThrow(message);
    expect(ledger.jobs()).toEqual([]);
  });

  it('is refused with a changed digit that breaks no rule', () => {
    expect(() => ledger.import(text.replace('"100"', '"199"'))).toThrow('its digest does not match');
    expect(ledger.jobs()).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['it is nested too deep for memory', '['.repeat(10_000_000), 'expected {'],
    ['its values are nested too deep', text.replace('"wasm"', '['.repeat(10_000)), 'nested more than 64 deep'],
    ['a second export follows', text + text, 'expected the end'],
    ['it is cut short', text.slice(0, -20), 'is not JSON'],
    ['it is empty', '', 'expected {'],
  ])('is refused if %s', (_name, given, message) => {
    expect(() => ledger.import(given)).toThrow(message);
    expect(ledger.jobs()).toEqual([]);
  });

  it('is refused if the known job has another space', () => {
    const { id } = ledger.import(undigested);
    expect(() => ledger.import({ ...undigested, space: ['0', '2000'] })).toThrow(`the key of job ${id}`);
    takeOut(id);
  });

  it('of a job whose command has another space is reported when the command runs', () => {
    const { id } = ledger.import({ ...undigested, space: ['0', '2000'] });
    expect(() => ledger.begin(opening)).toThrow(`millrace jobs remove ${id}`);
    ledger.remove(id);
  });

  it('that fails in the middle adds nothing', () => {
    const connection = new Connection(join(folder, 'ledger.db'), 5000);
    connection.exec("CREATE TRIGGER fail BEFORE INSERT ON done BEGIN SELECT RAISE(ABORT, 'in the middle'); END");
    expect(() => ledger.import(text)).toThrow('in the middle');
    connection.exec('DROP TRIGGER fail');
    connection.close();
    expect(ledger.jobs()).toEqual([]);
    expect(takeOut(ledger.import(text).id)).toEqual(content);
  });

  it(`of ${MUTATIONS} mutated files is refused with a message, or adds what was exported`, () => {
    const random = generator(23);
    const before = process.memoryUsage().rss; // of a process that other tests share
    let [refused, taken] = [0, 0];
    for (let turn = 0; turn < MUTATIONS; turn++) {
      // Without a digest, a mutation that follows every rule is accepted.
      const hasDigest = turn % 2 === 0;
      const mutated = mutate(hasDigest ? text : JSON.stringify(undigested, undefined, 1), random);
      let id: string;
      try {
        id = ledger.import(mutated).id;
      } catch (error) {
        expect([mutated, error]).toMatchObject([mutated, { name: 'MillraceError', code: 'input-format' }]);
        expect((error as Error).message.length).toBeLessThan(400);
        expect(ledger.jobs()).toEqual([]);
        refused++;
        continue;
      }
      const brought = takeOut(id);
      if (mutated.includes(String(exported.digest))) expect(brought).toEqual(content);
      taken++;
    }
    expect(refused).toBeGreaterThan(MUTATIONS / 2);
    expect(taken).toBeGreaterThan(0);
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 30);
  });
});

const TOKENS = [
  ...[
    'null',
    '[]',
    '{}',
    '""',
    '-1',
    '1e999',
    '"$big"',
    'true',
    '99999999999999999999',
    '"__proto__"',
    '\\u0000',
    '\\ud800',
  ],
  ...[',', ':', '[', ']', '{', '}', '"', '0', '9'],
];

/** Makes one to four changes: to a character, a value, or a part that is deleted, inserted or copied many times. */
function mutate(given: string, random: (below: number) => number): string {
  let changed = given;
  const token = (): string => TOKENS[random(TOKENS.length)] ?? '';
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const at = random(changed.length);
    const from = random(changed.length);
    const splice = (length: number, put: string): string =>
      changed.slice(0, at) + put + changed.slice(Math.min(changed.length, at + length));
    const values = [...changed.matchAll(/"[^"]*"|\d+|[[{][^[\]{}]*[\]}]/g)];
    const value = values[random(values.length)];
    const kinds = [
      () => splice(1, String.fromCharCode(32 + random(95))),
      () => splice(1 + random(20), ''),
      () => splice(0, token()),
      () => splice(0, changed.slice(from, from + 1 + random(200))),
      () => splice(0, changed.slice(from, from + 1 + random(20)).repeat(random(2000))),
      () => (value ? changed.slice(0, value.index) + token() + changed.slice(value.index + value[0].length) : changed),
    ];
    changed = kinds[random(kinds.length)]?.() ?? changed;
  }
  return changed;
}

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
