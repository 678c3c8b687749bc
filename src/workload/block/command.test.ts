import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { millrace as commandLine, signalled } from '../../../test/command-line.js';
import { byTier, isLong } from '../../../test/tier.js';
import { listDevices } from '../../device/registry.js';

// `millrace block solve` on the native device: the files it writes, byte for byte.
const data = fileURLToPath(new URL('../../../test/data/block/', import.meta.url));
const millrace = (...args: string[]) => commandLine(['block', ...args], { env: { NO_COLOR: '1' } });

let folder = '';
let noNative: string | undefined;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-block-'));
  noNative = (await listDevices()).absent.find(({ id }) => id === 'native') && 'no C compiler';
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach((ctx) => {
  if (noNative) ctx.skip(noNative);
});

describe('solves', () => {
  // Nonces to try, ascending: 1, 283 thousand, 12 million; 0, 5 million.
  const few = ['synthetic/easy01', 'mainnet/regtest-0'];
  const more = ['synthetic/easy00', 'synthetic/easy02', 'mainnet/signet-0'];
  // 163 million (test/block-files.test.ts has that one), 853, 274 and 414 million, 1.9 and 2.1 billion.
  const big = [
    'mainnet/mainnet-1',
    'mainnet/mainnet-2',
    'mainnet/mainnet-100000',
    'mainnet/testnet3-0',
    'mainnet/mainnet-170',
    'mainnet/mainnet-0',
  ];
  it.each([...few, ...byTier([], more), ...(isLong ? big : [])])(
    '%s',
    { timeout: isLong ? 1_800_000 : 120_000 },
    async (name) => {
      const out = join(folder, 'solved.out');
      const { status, stdout, stderr } = await millrace('solve', join(data, `${name}.in`), out, '--device', 'native');
      expect(stderr).toMatch(/\d+ blocks? solved in .* on native/);
      expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
      expect(readFileSync(out, 'latin1')).toBe(readFileSync(join(data, `${name}.out`), 'latin1'));
      expect(readdirSync(folder)).toEqual(['solved.out']);
      rmSync(out);
    },
  );

  it.skipIf(isLong)('the files that take minutes', (ctx) => ctx.skip('takes minutes: MILLRACE_LONG=1'));

  it('with --any, giving a nonce that verifies', async () => {
    const [input, out] = [join(data, `synthetic/${byTier('easy01', 'easy02')}.in`), join(folder, 'any.out')];
    expect((await millrace('solve', input, out, '--any')).status).toBe(0);
    expect((await millrace('verify', input, out)).status).toBe(0);
    rmSync(out);
  });

  // test/block-files.test.ts has one case of this in short runs too.
  it.each(byTier([], [1, 16]))('the same with %i blocks at a time', async (jobs) => {
    const out = join(folder, 'jobs.out');
    const { status } = await millrace('solve', join(data, 'synthetic/easy01.in'), out, '--jobs', `${jobs}`);
    expect(status).toBe(0);
    expect(readFileSync(out, 'latin1')).toBe(readFileSync(join(data, 'synthetic/easy01.out'), 'latin1'));
    rmSync(out);
  });

  it('check is an alias of verify', async () => {
    const files = [join(data, 'course/case01.in'), join(data, 'course/case01.out')];
    const [check, verify] = [await millrace('check', ...files), await millrace('verify', ...files)];
    expect(check).toMatchObject({ status: 0, stdout: expect.stringContaining('block 4: correct\n') });
    expect(check).toEqual(verify);
    const wrong = await millrace('check', join(data, 'course/case01.in'), join(data, 'course/case00.out'));
    expect(wrong.status).toBe(1);
  });

  it('input in CRLF and upper case, and reports JSON events', async () => {
    const text = readFileSync(join(data, 'synthetic/easy01.in'), 'latin1');
    const [input, out] = [join(folder, 'odd.in'), join(folder, 'odd.out')];
    writeFileSync(input, text.toUpperCase().replaceAll('\n', '\r\n'));
    const { stderr, events: all } = await millrace('solve', input, out, '--json');
    expect(stderr).toBe('');
    const events = all.filter(({ event }) => event !== 'progress' && event !== 'prepared');
    const solved = events
      .filter(({ event }) => event === 'block')
      .toSorted((a, b) => Number(a.block) - Number(b.block));
    expect(solved.map(({ block }) => block)).toEqual([1, 2, 3, 4, 5]);
    expect(solved[0]).toMatchObject({ block: 1, blocks: 5, nonce: 187, written: 'bb000000' });
    expect(events.find(({ event }) => event === 'device')).toMatchObject({ id: expect.any(String) });
    const done = events.at(-1);
    expect(done).toMatchObject({ event: 'done', exit: 0, blocks: 5, unsolved: 0 });
    expect(done?.tried).toBe(solved.reduce((sum, { tried }) => sum + Number(tried), 0));
    expect(readFileSync(out, 'latin1')).toBe(readFileSync(join(data, 'synthetic/easy01.out'), 'latin1'));
  });
});

it('a block without a nonce gives zeros, a warning and status 1, and the next block is solved', async () => {
  const [input, out] = [join(data, 'synthetic/easy01.in'), join(folder, 'none.out')];
  const { status, stdout, stderr } = await millrace('solve', input, out, '--nonces', '0:20000');
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('warning: block 2 of 5 has no valid nonce (20,000 tried); 00000000 stands in its place\n');
  expect(stderr).toContain('3 blocks solved');
  expect(readFileSync(out, 'latin1')).toBe('5\nbb000000\n00000000\n234a0000\n3e470000\n00000000\n');
});

it('Ctrl-C ends a search without a ledger with status 3, and nothing is written', async () => {
  const out = join(folder, 'stopped.out');
  const args = ['block', 'solve', join(data, 'mainnet/mainnet-0.in'), out, '--no-ledger', '--json'];
  // From then on the search takes a minute.
  const { status, events } = await signalled(args, [[/"prepared"/, 'SIGINT']]);
  expect(status).toBe(3);
  expect(events.slice(-2)).toMatchObject([
    { event: 'error', code: 'aborted' },
    { event: 'done', exit: 3 },
  ]);
  expect(readdirSync(folder).filter((name) => name.includes('stopped'))).toEqual([]);
});
