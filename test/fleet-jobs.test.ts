import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fleetBlock } from '../src/workload/block/job/fleet.js';
import { interrupted, main, millrace } from './command-line.js';
import { whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { noPty, removePty, startInTerminal } from './terminal/pty.js';
import { byTier, isShort, patience } from './tier.js';
import { zerosFile } from './zeros.js';

/** Commands with `--fleet`: their answers are those of one machine. One server and one worker serve all tests. */
const absent = whyNoFleet();
let fleet: FleetHere;

beforeAll(async () => {
  if (absent) return;
  fleet = await FleetHere.start();
  await fleet.join('w', 'wasm');
});
afterAll(async () => {
  await fleet?.close();
  removePty();
});

const here = (...args: string[]) =>
  millrace([...args, '--device', 'wasm', '--threads', '1'], { cwd: fleet.folder, env: fleet.env });
const onFleet = (...args: string[]) => millrace([...args, '--fleet'], { cwd: fleet.folder, env: fleet.env });

describe('block solve', () => {
  const data = (name: string) => fileURLToPath(new URL(`data/block/${name}`, import.meta.url));
  const text = (path: string) => readFileSync(path, 'latin1');

  test('writes the published nonces', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const file = byTier('synthetic/easy00', 'synthetic/easy01');
    const out = join(fleet.folder, 'nonces.out');
    const ran = await onFleet('block', 'solve', data(`${file}.in`), out);
    expect(ran.stderr).toMatch(/solved in .* on 1 worker, /);
    expect(ran.status).toBe(0);
    expect(text(out)).toBe(text(data(`${file}.out`)));
    // The fleet has the answers: nothing is tried again.
    const again = await onFleet('block', 'solve', data(`${file}.in`), out, '--json');
    expect(again.events.at(-1)).toMatchObject({ event: 'done', exit: 0, tried: 0, unsolved: 0 });
  });

  test.skipIf(isShort)('says that a range has no nonce, with the same events as one machine', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const args = ['block', 'solve', data('mainnet/mainnet-0.in'), 'none.out', '--nonces', '5:4000', '--json'];
    const timeless = (events: readonly object[]) => events.map((event) => ({ ...event, seconds: 0, startup: 0 }));
    const [ran, alone] = [await onFleet(...args), await here(...args)];
    expect(ran.status).toBe(1);
    const kinds = ['block', 'done'];
    expect(timeless(ran.events.filter(({ event }) => kinds.includes(event)))).toEqual(
      timeless(alone.events.filter(({ event }) => kinds.includes(event))),
    );
  });
});

describe('uhash', () => {
  const vectors = JSON.parse(readFileSync(new URL('data/uhash/vectors.json', import.meta.url), 'utf8')) as {
    proof_vectors: { challenge: string; records: { leading_zero_bits: number; nonce: string; hash: string }[] }[];
  };
  const { challenge, records } = vectors.proof_vectors[0]!;
  const proof = records.find(({ leading_zero_bits: bits }) => bits === 3)!;

  test('prove finds a published proof', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const ran = await onFleet('uhash', 'prove', '--challenge', challenge, '--difficulty', '3', '--max-attempts', '30');
    expect(ran).toMatchObject({ status: 0, stdout: `${proof.nonce}  ${proof.hash}\n` });
    if (isShort) return;
    const none = await onFleet('uhash', 'prove', '--challenge', '00', '-d', '200', '--max-attempts', '3', '--json');
    expect(none).toMatchObject({ status: 1 });
    expect(none.events.at(-1)).toMatchObject({ event: 'done', nonce: null, hash: null, attempts: 3 });
  });

  test('mine finds the proofs of one machine, in order', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const batches = byTier('1', '3');
    const args = ['uhash', 'mine', '--challenge', challenge, '-d', '2', '--batch-size', '6', '--max-batches', batches];
    const ran = await onFleet(...args);
    expect(ran.status).toBe(0);
    expect(ran.stdout.split('\n')).toContain(`${proof.nonce}  ${proof.hash}`);
    if (!isShort) expect((await here(...args)).stdout).toBe(ran.stdout);
    const unlimited = await onFleet('uhash', 'mine', '--challenge', challenge, '-d', '9', '--max-batches', '2');
    expect(unlimited).toMatchObject({ status: 64, stderr: expect.stringMatching(/give --batch-size/) });
  });
});

describe('gaps search', () => {
  const set = '|== ChineseSet ==|\nn_primes:    6\nsize:        160\nn_candidates: 0\noffset:      1327\n';

  test('--crt finds the gaps of one machine', async (ctx) => {
    if (absent) return ctx.skip(absent);
    writeFileSync(join(fleet.folder, 'set.txt'), set);
    const args = ['gaps', 'search', '--start', '0xd5cada15b5b66983', '--length', String(30_030 * byTier(60, 600))];
    const job = [...args, '--min-gap', '120', '--crt', 'set.txt'];
    const [ran, alone] = [await onFleet(...job), await here(...job, '--no-ledger')];
    expect(alone.stdout.split('\n').length).toBeGreaterThan(3);
    expect(ran).toMatchObject({ status: 0, stdout: alone.stdout });
  });
});

describe("a user's kernel", () => {
  const kernelIndex = new URL('../dist/kernel/index.js', import.meta.url).href;
  /** Writes a kernel that hits at multiples of 100. */
  const write = (file: string, verify: string, body = '') =>
    writeFileSync(
      join(fleet.folder, file),
      `import { cell, items, u32, when, whileTrue } from '${kernelIndex}';
       export default {
         kernel: items('own${body === '' ? '' : '-endless'}', { hit: { half: u32 } }, ({ index, emit }) => {
           ${body}
           when(index.lo.rem(100).eq(0), () => emit({ half: index.lo.div(2) }));
         }),
         verify: ${verify},
       };`,
    );
  const AGREES = '({ index, half }) => BigInt(half) * 2n === index';
  const status = async () => (await (await fleet.client()).overview()).jobs;

  test('is checked by the submitter before a hit is committed', async (ctx) => {
    if (absent) return ctx.skip(absent);
    write('refusing.mjs', '({ index }) => index !== 300n || "300 is not liked"');
    const refused = await onFleet('run', 'refusing.mjs', '--space', '500');
    expect(refused.stderr).toMatch(/your kernel and your verify disagree at index 300/);
    expect(refused.stderr).toMatch(/half = 150; verify: 300 is not liked/);
    expect(refused.status).toBe(74);
    expect(await status()).toContainEqual(expect.objectContaining({ name: 'own', state: 'paused', hits: 0 }));
    // The same kernel with a verify that agrees: the fleet does what is left.
    write('agreeing.mjs', AGREES);
    const { status: exit, stdout, stderr } = await onFleet('run', 'agreeing.mjs', '--space', '500');
    expect(stdout.trim().split(/\s+/), stderr).toEqual([
      '0',
      '0',
      '100',
      '50',
      '200',
      '100',
      '300',
      '150',
      '400',
      '200',
    ]);
    expect(exit).toBe(0);
    expect(fleet.notes.filter((note) => /wrong/.test(note))).toEqual([]);
  });

  test.skipIf(isShort)('that never ends is refused, with a reason, and the worker goes on', async (ctx) => {
    if (absent) return ctx.skip(absent);
    write('endless.mjs', 'undefined', 'const x = cell(u32, 1); whileTrue(() => x.ne(0), () => x.set(x.or(1)));');
    const reason = /cannot run this job: its kernel ran for 2 s without an end/;
    const stopped = await interrupted(['run', 'endless.mjs', '--space', '5', '--runtime', '60s', '--fleet'], {
      ...{ when: reason, act: (pid: number) => process.kill(pid, 'SIGINT') },
      ...{ cwd: fleet.folder, env: fleet.env },
    });
    expect(stopped.stderr).toMatch(reason);
    write('agreeing.mjs', AGREES);
    expect((await onFleet('run', 'agreeing.mjs', '--space', '1500', '--mode', 'first')).status).toBe(0);
  });
});

test.skipIf(isShort)('p pauses the job of the fleet, r resumes it, q leaves it paused', async (ctx) => {
  const lacking = absent ?? noPty();
  if (lacking) return ctx.skip(lacking);
  const client = await fleet.client();
  const job = async () => (await client.overview()).jobs.find(({ name }) => name === 'zeros');
  const done = async () => BigInt((await job())?.done ?? 0);
  writeFileSync(join(fleet.folder, 'zeros.mjs'), zerosFile(28));
  const terminal = startInTerminal([process.execPath, main, 'run', 'zeros.mjs', '--fleet'], {
    ...{ columns: 120, cwd: fleet.folder, env: { ...fleet.env, NO_COLOR: '1' } },
  });
  await terminal.until(/^status +running$/m);
  await expect.poll(done).toBeGreaterThan(0n);
  terminal.press('p');
  await terminal.until(/^status +paused$/m);
  await expect.poll(job).toMatchObject({ state: 'paused' });
  const before = await done();
  terminal.press('r');
  await terminal.until(/^status +running$/m);
  await expect.poll(job).toMatchObject({ state: 'running' });
  await expect.poll(done).toBeGreaterThan(before);
  terminal.press('q');
  expect(await terminal.ended).toEqual({ how: 'exit 2', isRestored: true });
  expect(await job()).toMatchObject({ state: 'paused' });
});

test.skipIf(isShort)(
  'a worker without the workload, or with another version, says so to the submitter',
  async (ctx) => {
    if (absent) return ctx.skip(absent);
    const other = await FleetHere.start();
    try {
      await other.join('old', 'wasm', [{ ...fleetBlock, version: 7 }]);
      const genesis = fileURLToPath(new URL('data/block/mainnet/mainnet-0.in', import.meta.url));
      const args = ['block', 'solve', genesis, 'old.out', '--fleet', '--runtime', '5s'];
      const ran = await millrace(args, { cwd: other.folder, env: other.env });
      expect(ran.stderr).toMatch(/worker \S+ cannot run this job: block@1 is not here: this machine has block@7/);
      expect(ran.status).toBe(4);
    } finally {
      await other.close();
    }
  },
);

describe('where a command runs', () => {
  test('a flag takes precedence over the environment, the environment over a file', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const genesis = fileURLToPath(new URL('data/block/mainnet/regtest-0.in', import.meta.url));
    const place = async (args: readonly string[], env: NodeJS.ProcessEnv) => {
      const { status, stderr, events } = await millrace(['block', 'solve', genesis, 'place.out', ...args, '--json'], {
        cwd: fleet.folder,
        env: { ...fleet.env, ...env },
      });
      expect(status, stderr).toBe(0);
      return events.some(({ event }) => event === 'device') ? 'devices' : 'fleet';
    };
    const config = join(fleet.folder, 'config.json');
    writeFileSync(config, JSON.stringify({ fleet: true, device: 'wasm' }));
    expect(await place([], { MILLRACE_FLEET: '1', MILLRACE_DEVICE: 'cuda:99' })).toBe('fleet');
    expect(await place(['--config', config], {})).toBe('fleet');
    if (isShort) return;
    expect(await place(['--device', 'wasm'], { MILLRACE_FLEET: '1' })).toBe('devices');
    expect(await place(['--config', config], { MILLRACE_FLEET: '0' })).toBe('devices');
  });

  test.each([
    [['--device', 'wasm'], /--device has no meaning on a fleet: each worker has its own/],
    [['--max-temp', '80'], /--max-temp has no meaning on a fleet/],
    [['--batch-size', '6'], /--batch-size has no meaning/],
    [['--trace', 'file'], /--trace has no meaning/],
  ])('%j is refused with a fleet', async (args, reason) => {
    const job = ['uhash', 'prove', '--challenge', '00', '-d', '0', '--fleet'];
    const { status, stderr } = await millrace([...job, ...args]);
    expect(status).toBe(64);
    expect(stderr).toMatch(reason);
  });

  test('a worker takes only jobs that exist', async () => {
    const { status, stderr } = await millrace(['fleet', 'join', '--only', 'block,words']);
    expect(status).toBe(64);
    expect(stderr).toMatch(/Expected a list of block, gaps, uhash, run\./);
  });
});

test('a worker that speaks another version is answered and told, and not taken for a flood', async (ctx) => {
  if (absent) return ctx.skip(absent);
  const bus = await fleet.connectAs('newer', 'worker', true);
  const heard: unknown[] = [];
  bus.subscribe('to.newer.1', (bytes) => void heard.push(JSON.parse(Buffer.from(bytes).toString())));
  // More than a flood would be, if each counted as a message that cannot be read.
  const want = Buffer.from('{"version":2,"kind":"ask","worker":"newer.1"}');
  for (let count = 0; count < 100; count++) bus.publish('from', want);
  await bus.flush();
  // Its own reader says both versions of such an answer.
  await expect.poll(() => heard.length, { timeout: patience(60_000) }).toBe(100);
  expect(heard[0]).toEqual({ version: 1, kind: 'announce', term: fleet.host.service.term });
  // It is told again after 10 s, which a slow machine may need.
  expect(new Set(fleet.notes.filter((note) => note.startsWith('newer')))).toEqual(
    new Set(['newer: not a message of the fleet: its version is 2; this version of Millrace reads 1']),
  );
});
