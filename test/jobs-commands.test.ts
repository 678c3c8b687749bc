import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JobSummary } from '../src/store/index.js';
import { outputBytes } from '../src/workload/words/space/output-size.js';
import { parseRequest } from '../src/workload/words/space/request.js';
import { cleanEnvironment, main, millrace, millraceProcess, type Started, signalled, start } from './command-line.js';
import { reading } from './store/planted.js';
import { isLong, isShort } from './tier.js';

/** Long-running workload commands: stopped, killed and resumed. Completed work is never repeated. */
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-commands-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Each test has its own data directory, with one job. */
const placeOf = (name: string) => {
  const place = join(folder, name);
  rmSync(place, { recursive: true, force: true }); // a retry also starts from an empty directory
  mkdirSync(place);
  const options = { cwd: place, env: { MILLRACE_DATA_DIR: join(place, 'data'), MILLRACE_CHECKPOINT_MS: '50' } };
  const job = async (): Promise<JobSummary | undefined> => {
    const notices: string[] = [];
    const [found, ...others] = await reading(join(place, 'data'), notices, (store) => store.jobs());
    expect([notices, others]).toEqual([[], []]);
    return found;
  };
  /** Waits until a job in the ledger meets the condition. */
  const until = async ({ until: heard, ended }: Started, condition: (job: JobSummary) => boolean): Promise<void> => {
    await heard(({ event }) => event === 'job');
    let isOver = false;
    void ended.finally(() => {
      isOver = true;
    });
    await reading(join(place, 'data'), [], async (store) => {
      while (!(await store.jobs()).some(condition)) {
        if (isOver) throw new Error(`the command ended first: ${JSON.stringify((await ended).events.slice(-3))}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  };
  return { place, options, job, until };
};
const sum = (job: JobSummary | undefined): bigint => job?.done ?? -1n;

describe.concurrent('block solve', () => {
  const text = (name: string): string[] =>
    readFileSync(new URL(`./data/block/synthetic/${name}`, import.meta.url), 'latin1')
      .trimEnd()
      .split('\n');
  const [, ...lines] = text('easy01.in');
  const [, ...nonces] = text('easy01.out');
  /** Five blocks, each with four lines, the number of transactions, and one line per transaction. */
  const blocks: string[][] = [];
  while (lines.length > 0) blocks.push(lines.splice(0, 5 + Number(lines[4])));
  /** The first block is solved after 187 nonces, the last after 206,427: minutes on the interpreter. */
  const [easy = [], hard = []] = [blocks[0], blocks[4]];

  it('resumes after SIGINT and SIGKILL, keeps the answers found and writes the same file', async () => {
    const { place, options, job, until } = placeOf('block');
    writeFileSync(join(place, 'two.in'), `${['2', ...easy, ...hard].join('\n')}\n`);
    const args = ['block', 'solve', 'two.in', 'two.out', '--json', '--device'];
    // Slow enough to be still running when the signal comes, on any machine.
    const slow = [...args, 'interpreter', '--streams', '1', '--slots', '1'];
    const both = /"event":"block"[\s\S]*"event":"job"|"event":"job"[\s\S]*"event":"block"/;
    const stopped = await signalled(slow, [[both, 'SIGINT']], options);
    expect(stopped.status).toBe(2);
    expect(stopped.events.at(-1)).toMatchObject({ exit: 2, job: (await job())?.job.id, blocks: 2, solved: 1 });
    expect((await job())?.job).toMatchObject({ state: 'open', reason: 'stopped' });
    expect(() => statSync(join(place, 'two.out'))).toThrow('ENOENT');

    const after = sum(await job());
    expect(after).toBeGreaterThan(0n);
    // A short run kills only jobs of other commands.
    if (!isShort) {
      const second = start(slow, options);
      await until(second, ({ done }) => done > after);
      second.child.kill('SIGKILL');
      await second.ended;
      expect(sum(await job())).toBeGreaterThan(after);
    }
    const before = sum(await job());

    const { status, events } = await millrace([...args, 'wasm'], options);
    expect(status).toBe(0);
    expect(readFileSync(join(place, 'two.out'), 'latin1')).toBe(`2\n${nonces[0]}\n${nonces[4]}\n`);
    const blockEvents = events.filter(({ event }) => event === 'block');
    expect(blockEvents.find(({ block }) => block === 1)).toMatchObject({ tried: 0 });
    expect(events.find(({ event }) => event === 'job')).toMatchObject({ isResumed: true, done: Number(before) });
    // The ledger rejects an index that is done twice, so every index tried is new.
    expect(sum(await job())).toBe(before + BigInt(Number(events.at(-1)?.tried)));
    expect((await job())?.job.state).toBe('answered');
  });

  it.skipIf(isShort)('stores no job with --no-ledger, and a finished one with --fresh', async () => {
    const { place, options, job } = placeOf('at-once');
    writeFileSync(join(place, 'one.in'), `1\n${easy.join('\n')}\n`);
    const args = ['block', 'solve', 'one.in', 'one.out', '--device', 'wasm', '--json'];
    const { status, events } = await millrace([...args, '--no-ledger'], options);
    expect([status, events.some(({ event }) => event === 'job')]).toEqual([0, false]);
    expect(() => statSync(join(place, 'data'))).toThrow('ENOENT');
    // With --fresh the job is stored at once, and is finished.
    expect((await millrace([...args, '--fresh'], options)).status).toBe(0);
    expect(await job()).toMatchObject({ job: { state: 'answered', command: 'block solve' } });
  });
});

describe.concurrent('words -o FILE', () => {
  it.skipIf(isShort)('pauses when the host makes the words without a device', async () => {
    const { place, options } = placeOf('words-paused');
    const running = start(['words', '?l?l?l?l?l?l?l', '--max-run', '1', '-o', 'out', '--json'], options);
    const { id } = await running.until(({ event }) => event === 'job');
    const size = (): number => statSync(join(place, 'out')).size;
    const jobs = (...args: string[]) => millrace(['jobs', ...args, String(id)], options);
    expect(await jobs('pause')).toMatchObject({ status: 0 });
    await running.until(({ event }) => event === 'paused');
    // Words in flight are still written.
    let before = -1;
    for (let still = 0, looks = 0; still < 5; still = size() === before ? still + 1 : 0) {
      expect(++looks).toBeLessThan(1000);
      before = size();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect((await jobs('show')).stdout).toContain('paused');
    expect(size()).toBe(before);
    expect(await jobs('resume')).toMatchObject({ status: 0 });
    while (size() === before) await new Promise((resolve) => setTimeout(resolve, 20));
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ status: 2 });
    truncateSync(join(place, 'out'));
  });

  it.skipIf(isShort)('resumes after a full disk and writes the same bytes', async (ctx) => {
    if (process.platform !== 'linux') return ctx.skip('needs ulimit -f in blocks of 1024 bytes');
    const { place, options, job } = placeOf('full');
    const args = ['words', '?l?l?l?l?l?l', '--limit', '500000', '-o', 'out'];
    const env = { ...cleanEnvironment(), ...options.env };
    // SIGXFSZ is ignored, so that the write fails instead, in the middle of a word.
    const line = `trap '' XFSZ; ulimit -f 3000; exec "$0" "$@"`;
    const full = spawnSync('bash', ['-c', line, process.execPath, main, ...args], {
      cwd: place,
      env,
      encoding: 'utf8',
    });
    expect([full.status, full.stdout]).toEqual([74, '']);
    const reached = await job();
    expect(reached).toMatchObject({ job: { state: 'open', reason: expect.stringContaining('cannot write') } });
    expect(reached?.done).toBeGreaterThan(0n);
    expect(BigInt(statSync(join(place, 'out')).size)).toBe(7n * sum(reached));
    expect(millraceProcess(['jobs', 'resume', 'last'], options)).toMatchObject({ status: 0, stdout: '' });
    expect(await job()).toMatchObject({ done: 500_000n, job: { state: 'complete', id: reached?.job.id } });
    const digest = (await millrace(['words', '?l?l?l?l?l?l', '--limit', '500000', '--digest'])).stdout.trim();
    expect(
      createHash('sha256')
        .update(readFileSync(join(place, 'out')))
        .digest('hex'),
    ).toBe(digest);
  });

  it('resumes after SIGKILL from the last commit; starts again if the file has changed', async () => {
    const { place, options, job, until } = placeOf('killed');
    const file = join(place, 'out');
    // Characters of different lengths, which the host makes one by one.
    const [mask, charset] = ['?1?1?1?1?1?1?1?1?1?1?1?1?1?1?1?1?1?1?1?1', 'abcd€'];
    const write = () => start(['words', '-1', charset, mask, '--utf8', '-o', 'out', '--json'], options);
    const { space } = parseRequest(mask, { charset1: charset, utf8: true, order: 'canonical', format: 'newline' });
    const bytesOf = (words: bigint): number => Number(outputBytes(space, 0n, words, 1));
    /** Kills a run that has committed more words than before; returns their number. */
    const killed = async (): Promise<bigint> => {
      const before = sum(await job());
      const run = write();
      await until(run, ({ done }) => done > 0n && done > before);
      run.child.kill('SIGKILL');
      expect((await run.ended).signal).toBe('SIGKILL');
      return sum(await job());
    };
    const first = await killed();
    expect(statSync(file).size).toBeGreaterThanOrEqual(bytesOf(first));
    // Bytes past the last commit, as a kill may leave them, are cut off on resume.
    writeFileSync(file, 'rubbish', { flag: 'a' });
    const second = await killed();
    expect(second).toBeGreaterThan(first);
    const bytes = readFileSync(file, 'latin1');
    const around = (words: bigint): [bigint, string] => [
      words - 2n,
      bytes.slice(bytesOf(words - 2n), bytesOf(words + 2n)),
    ];
    for (const [from, text] of [first, second].map(around)) {
      const wanted = [0n, 1n, 2n, 3n].map((at) => `${space.wordAt(from + at)}\n`).join('');
      expect(text).toBe(wanted.slice(0, text.length));
    }
    truncateSync(file, bytesOf(second) - 1);
    const restarted = write();
    const jobEvent = await restarted.until(({ event }) => event === 'job');
    expect(jobEvent).toMatchObject({ isResumed: false, done: 0 });
    restarted.child.kill('SIGKILL');
    await restarted.ended;
  });
});

it('words -o FILE works with a warning if the ledger cannot be opened, and fails if an option needs it', async () => {
  const { place, options } = placeOf('words-without');
  writeFileSync(join(place, 'data'), 'a file, not a folder');
  const given = ['words', '?d', '-o', 'words'];
  const { status, stderr } = await millrace(given, options);
  expect({ status, stderr }).toMatchObject({
    status: 0,
    stderr: expect.stringContaining('this job is not stored'),
  });
  expect(readFileSync(join(place, 'words'), 'latin1')).toHaveLength(20);
  expect((await millrace([...given, '--fresh'], options)).status).toBe(74);
});

it('uhash mine resumes after SIGKILL and reports every proof once, in order', async (ctx) => {
  if (!isLong) return ctx.skip('5 s of compiling: npm run test:long');
  const { place, options, job } = placeOf('mine');
  const args = ['uhash', 'mine', '--challenge', '00ff', '-d', '3', '--batch-size', '3', '--max-batches', '14'];
  const mine = (...more: string[]) =>
    start([...args, '--device', 'wasm', '--threads', '1', '--json', ...more], options);
  // The --on-hit program of the first proof kills it. It waits for that program, so the kill is never too late.
  writeFileSync(join(place, 'kill'), '#!/bin/sh\nkill -KILL $PPID\n', { mode: 0o755 });
  expect((await mine('--on-hit', './kill').ended).signal).toBe('SIGKILL');
  const before = await job();
  expect(before).toMatchObject({ job: { state: 'running' }, isRunning: false });
  expect(before?.hits).toBeGreaterThan(0);
  const { status, events } = await mine().ended;
  expect(status).toBe(0);
  expect(events.at(-1)?.hashes_total).toBe(42 - Number(sum(before)));
  expect(await job()).toMatchObject({ done: 42n, job: { state: 'complete', id: before?.job.id } });
  const nonces = events.flatMap(({ event, nonce }) => (event === 'proof_found' ? Number(nonce) : []));
  // As reference.ts finds them, in some seconds.
  expect(nonces).toEqual([10, 11, 12, 21, 22]);
});
