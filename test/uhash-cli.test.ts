import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { millrace, type Ran, signalled } from './command-line.js';
import { byTier, isShort } from './tier.js';

/** `millrace uhash` as users and programs run it, on the CPU. */
const vectors = JSON.parse(readFileSync(new URL('./data/uhash/vectors.json', import.meta.url), 'utf8')) as {
  proof_vectors: { challenge: string; records: { leading_zero_bits: number; nonce: string; hash: string }[] }[];
};
const { challenge, records } = vectors.proof_vectors[0]!;
const isLong = process.env.MILLRACE_LONG === '1';
const proof = records.find(({ leading_zero_bits: bits }) => bits === 3)!;

const env = { MILLRACE_DEVICE: 'wasm', ...byTier({ MILLRACE_THREADS: '1' }, {}) };
const run = (...args: string[]): Promise<Ran> => millrace(['uhash', ...args], { env });

describe('prove', () => {
  test('finds a published proof, as text and as events', async () => {
    const plain = await run('prove', '--challenge', challenge, '--difficulty', '3', '--batch-size', byTier('6', '4'));
    expect(plain).toMatchObject({ status: 0, stdout: `${proof.nonce}  ${proof.hash}\n` });
    const { status, events } = await run('prove', '--challenge', challenge, '-d', '3', '--json', '--batch-size', '6');
    const done = events.at(-1);
    expect(status).toBe(0);
    const expected = { challenge, difficulty: 3, nonce: Number(proof.nonce), hash: proof.hash };
    expect(done).toMatchObject({ event: 'done', exit: 0, ...expected });
    expect(done?.attempts).toBeGreaterThan(Number(proof.nonce));
  });

  test('exits with 1 if the attempts find no proof', async () => {
    const { status, events } = await run('prove', '--challenge', '00', '-d', '200', '--max-attempts', '3', '--json');
    expect(status).toBe(1);
    expect(events.at(-1)).toMatchObject({ nonce: null, hash: null, attempts: 3 });
  });

  test('continues with nonce 0 after the last', async ({ skip }) => {
    if (!isLong) return skip('128 hashes: npm run test:long');
    const from = (2n ** 64n - 1n).toString();
    const { events } = await run(
      ...['prove', '--challenge', challenge, '-d', '7', '--start-nonce', from, '--max-attempts', '200', '--json'],
    );
    const seven = records.find(({ leading_zero_bits: bits }) => bits === 7)!;
    expect(events.at(-1)).toMatchObject({ nonce: Number(seven.nonce), hash: seven.hash });
  });
});

describe('mine', () => {
  const FIELDS = ['elapsed_s', 'event', 'hash', 'hashes_total', 'hashrate', 'nonce'];

  test.skipIf(isShort)('writes an event for each proof', async () => {
    const { status, events } = await run(
      ...['mine', '--challenge', challenge, '-d', '3', '--batch-size', '6', '--max-batches', '2', '--json'],
    );
    expect(status).toBe(0);
    const found = events.filter(({ event }) => event === 'proof_found');
    expect(found[0]).toMatchObject({ nonce: Number(proof.nonce), hash: proof.hash });
    for (const one of found) expect(Object.keys(one).sort()).toEqual(FIELDS);
    expect(events.at(-1)).toMatchObject({ event: 'done', exit: 0, proofs: found.length, hashes_total: 12 });
  });

  test('pauses and resumes on a signal', async (ctx) => {
    if (process.platform === 'win32') return ctx.skip('Windows has no SIGUSR2');
    const args = [
      'mine',
      '--challenge',
      '00',
      '-d',
      '255',
      '--batch-size',
      '3',
      '--start-nonce',
      '0x10',
      '--threads',
      '1',
      '--json',
    ];
    const { status, events } = await signalled(
      ['uhash', ...args],
      [
        [/"event":"progress"/, 'SIGUSR2'],
        [/"event":"paused"/, 'SIGUSR2'],
        [/"event":"resumed"/, 'SIGINT'],
      ],
      { env },
    );
    // The job is in the ledger, so it ends at a checkpoint, within ten seconds.
    expect(status).toBe(2);
    expect(events.at(-1)).toMatchObject({ event: 'done', exit: 2, proofs: 0 });
  });

  test.skipIf(isShort)('ends at a proof with --stop-on-proof', async () => {
    const { events } = await run(
      ...['mine', '--challenge', challenge, '-d', '2', '--stop-on-proof', '--batch-size', '3', '--json'],
    );
    const found = events.filter(({ event }) => event === 'proof_found');
    expect(found).toMatchObject([{ nonce: Number(proof.nonce), hash: proof.hash }]);
    expect(Object.keys(found[0] ?? {}).sort()).toEqual(FIELDS);
  });
});

describe('verify and inspect', () => {
  const args = ['verify', '--challenge', challenge, '--nonce', proof.nonce, '--json'];
  test.each([
    [[...args, '--hash', proof.hash, '-d', '3'], { exit: 0, valid: true, hash_matches: true, difficulty_met: true }],
    [[...args, '--hash', proof.hash, '-d', '99'], { exit: 1, valid: false, hash_matches: true, difficulty_met: false }],
    [[...args, '--hash', 'ab'.repeat(32)], { exit: 1, valid: false, hash_matches: false, difficulty_met: null }],
    [
      ['inspect', proof.hash, '--json'],
      { exit: 0, kind: 'hash', bytes_len: 32, hex: proof.hash, leading_zero_bits: 3 },
    ],
  ])('%s', async (given, expected) => {
    const { status, events } = await run(...given);
    const done = events.at(-1);
    expect(done).toMatchObject(expected);
    expect(status).toBe(expected.exit);
  });
});

/** `options.test.ts` beside the code tests how values are parsed; this tests that users get the errors. */
describe('reports an error for', () => {
  test.each([
    [['prove', '--challenge', 'abc', '-d', '257'], 'even number of hex digits'],
    [['mine', '--challenge', '00', '-d', '1', '--batch-size', '0'], 'from 1 to'],
    [['mine', '-d', '1'], '--challenge'],
  ])('%s', async (given, words) => {
    const { status, stderr } = await run(...given);
    expect(status).toBe(64);
    expect(stderr).toContain(words);
  });

  test('too little memory', async () => {
    const { status, stderr } = await run('prove', '--challenge', '00', '-d', '1', '--max-memory', '1M');
    expect(status).toBe(69);
    expect(stderr).toContain('no memory');
  });
});
