import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { bytes } from '../src/console/output/format.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { Commands, cellsOf, factsOf, numberIn, openPage, QUIET, stripOf, sum, type WatchedPage } from './dashboard.js';
import { GapPoolServer } from './network/gap-pool-server.js';
import { PoolServer } from './network/pool-server.js';
import { executable, useChromium } from './page.js';
import { isShort, patience } from './tier.js';

/** The page of each workload: its coverage, its lines, its devices. */
describe.skipIf(!executable || isShort)('the dashboard of a workload', { timeout: patience(120_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium();

  afterAll(() => commands.close());

  /** Starts a command and opens its job's page. */
  async function show(...args: readonly string[]): Promise<WatchedPage> {
    const command = await commands.start(...args, '--dashboard');
    onTestFinished(async () => {
      command.kill('SIGKILL');
      await command.ended;
    });
    const page = await openPage(chromium.browser, await command.url);
    await page.locator('tbody th a').click();
    return page;
  }

  /** Pauses the job. Then the parts of the strip that are done must add up to the count of the job, in units of `scale`. */
  async function expectSameCount(page: WatchedPage, fact: 'done' | 'tried', scale = 1n): Promise<void> {
    await expect.poll(async () => numberIn((await factsOf(page))[fact])).toBeGreaterThan(0n);
    await expect.poll(async () => sum((await stripOf(page)).done)).toBeGreaterThan(0n);
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(async () => (await factsOf(page)).state).toBe('paused');
    const difference = async (): Promise<bigint> => {
      const [{ done, device, unconfirmed }, facts] = [await stripOf(page), await factsOf(page)];
      return sum(device) + sum(unconfirmed) === 0n ? sum(done) * scale - numberIn(facts[fact]) : -1n;
    };
    await expect.poll(difference).toBe(0n);
  }

  const caption = (page: WatchedPage): Promise<string | null> => page.locator('figure.strip .dim').textContent();

  test('uhash mine: nonces from the first to the last', async () => {
    const page = await show(
      ...['uhash', 'mine', '--challenge', '00ff', '-d', '200', '--start-nonce', '1000'],
      ...['--batch-size', '2', '--max-batches', '1000', '--device', 'wasm', '--threads', '1'],
    );
    await expectSameCount(page, 'tried');
    expect(await caption(page)).toBe('nonces: 1,000 to 3,000');
    expect((await stripOf(page)).done).toHaveLength(240);
    expect(await page.getByRole('link', { name: 'playground' }).getAttribute('href')).toBe('/playground#example=uhash');
    expect(page.faults).toEqual([]);
  });

  test('uhash prove: the attempts', async () => {
    const page = await show(
      ...['uhash', 'prove', '--challenge', '00ff', '-d', '200', '--max-attempts', '100000'],
      ...['--batch-size', '2', '--device', 'wasm', '--threads', '1'],
    );
    await expectSameCount(page, 'done');
    expect(await caption(page)).toBe('nonces: 0 to 100,000');
  });

  test('block solve: the nonces of each block; those after a found nonce are not needed', async () => {
    // The first block of the chain, and one that differs in its time.
    const [, ...genesis] = readFileSync(new URL('./data/block/mainnet/mainnet-0.in', import.meta.url), 'utf8').split(
      '\n',
    );
    const lines = genesis.filter((line) => line !== '');
    const other = lines.with(2, '4966bc61');
    commands.write('two.in', `2\n${[...lines, ...other].join('\n')}\n`);
    // Its nonce is 2083236893.
    const nonces = ['--nonces', `2083236800:${2083236800 + 2 ** 16}`];
    const page = await show('block', 'solve', 'two.in', 'two.out', ...QUIET, ...nonces);
    await expect.poll(async () => sum((await stripOf(page)).skipped)).toBeGreaterThan(0n);
    const [first, second] = [(all: string[]) => sum(all.slice(0, 120)), (all: string[]) => sum(all.slice(120))];
    // Chunks that were on a device when the nonce was found end a moment later.
    await expect
      .poll(async () => {
        const { done, skipped } = await stripOf(page);
        return { first: first(done) + first(skipped), second: second(skipped), hasNonce: BigInt(done[0] ?? 0) >= 94n };
      })
      .toEqual({ first: 2n ** 16n, second: 0n, hasNonce: true });
    await expectSameCount(page, 'tried');
    expect(await caption(page)).toBe('nonces of 2 blocks: 0 to 131,072');
    await expect.poll(async () => (await factsOf(page)).blocks).toBe('1 of 2');
    expect(page.faults).toEqual([]);
  });

  test('block mine: headers of the current work, the server and the shares', async () => {
    const pool = await new PoolServer().listen();
    onTestFinished(() => pool.close());
    pool.difficulty = '1000000';
    const url = pool.url.replace('//', '//worker:apple-pass@');
    const page = await show('block', 'mine', '--stratum', url, ...QUIET);
    // The interpreter tries one version for each index.
    await expectSameCount(page, 'tried');
    expect(await caption(page)).toMatch(/^headers of the current work: 0 to \d+$/);
    await expect
      .poll(() => factsOf(page))
      .toMatchObject({
        server: pool.url,
        work: expect.stringMatching(/^job job-1, shares of difficulty 1\.000e\+6, one in about /),
        shares: '0 accepted, 0 rejected, 0 stale, 0 hardware errors',
        since: expect.stringMatching(/\d\d:\d\d/),
      });
    expect(await page.content()).not.toContain('apple-pass');
    expect(page.faults).toEqual([]);
  });

  test('gaps mine: numbers of the current header', async () => {
    const pool = await new GapPoolServer().listen();
    onTestFinished(() => pool.close());
    pool.difficulty = 60n << 48n;
    const plan = ['--device', 'wasm', '--threads', '1', '-f', '40', '--primes', '500', '--window', '8192'];
    const page = await show('gaps', 'mine', '--stratum', pool.url, '--user', 'worker', ...plan);
    await expect.poll(async () => sum((await stripOf(page)).done)).toBeGreaterThan(0n);
    expect(await caption(page)).toBe('numbers of the current header: 0 to 1,099,511,627,776');
    await expect.poll(async () => (await factsOf(page)).server).toBe(pool.url);
    await expect.poll(async () => numberIn((await factsOf(page)).tried)).toBeGreaterThan(0n);
    expect(page.faults).toEqual([]);
  });

  test('gaps search: the range, and the gaps that are found', async () => {
    const range = ['--start', '2^64', '--length', '2^36', '--min-gap', '300', '--primes', '2000', '--window', '65536'];
    const page = await show('gaps', 'search', ...range, '--device', 'wasm', '--threads', '1', '--fresh');
    await expect.poll(async () => numberIn((await factsOf(page)).done)).toBeGreaterThan(0n);
    await page.getByRole('button', { name: 'Pause' }).click();
    await expect.poll(async () => (await factsOf(page)).state).toBe('paused');
    // No device has work now. The last results wait for a canary, which is sent when the job resumes: they are shown as that.
    const paused = async () => {
      const [{ done, device, unconfirmed }, facts] = [await stripOf(page), await factsOf(page)];
      return { device: sum(device), difference: sum(done) + sum(unconfirmed) - numberIn(facts.done) };
    };
    await expect.poll(paused).toEqual({ device: 0n, difference: 0n });
    await page.locator('figure.strip .key', { hasText: 'to be checked' }).waitFor();
    await page.getByRole('img', { name: /^Coverage: .* % done, [\d,]+ to be checked, 0 on a device$/ }).waitFor();
    expect(await caption(page)).toBe('0 to 68,719,476,736');
    expect((await stripOf(page)).done).toHaveLength(240);
    await page.getByRole('button', { name: 'Resume' }).click();
    // The first gap of 300 or more above 2^64 is 390 after 18446744073709631131.
    const first = page.locator('section[aria-label=Hits] li > :first-child').first();
    await expect.poll(() => first.textContent()).toBe('79,515');
    expect(page.faults).toEqual([]);
  });

  test('words: words in order', async () => {
    const page = await show(
      ...['words', '?l?l?l?l?l?l?l?l', '--digest', '--skip', '676', '--device', 'wasm', '--threads', '1'],
    );
    await expectSameCount(page, 'done');
    expect(await caption(page)).toBe('676 to 208,827,064,576');
    const { done } = await stripOf(page);
    expect(done.indexOf('0')).toBeGreaterThan(0);
    expect(done.slice(done.indexOf('0')).every((one) => one === '0')).toBe(true);
    expect(page.faults).toEqual([]);
  });

  test('encode: samples of the file', async () => {
    // 2^16 samples of 64 numbers, on the interpreter: longer than the test.
    commands.write('samples.f64', Buffer.from(new Float64Array(2 ** 16 * 64).fill(1).buffer));
    const page = await show(
      ...['encode', 'samples.f64', '--length', '64', '--batch-size', '16', '--device', 'interpreter'],
    );
    await expectSameCount(page, 'done');
    expect(await caption(page)).toBe('samples: 0 to 65,536');
    await expect
      .poll(() => factsOf(page))
      .toMatchObject({
        done: expect.stringMatching(/ of 65,536 /),
        finish: expect.stringMatching(/\d\d:\d\d|^–$/),
      });
    expect(page.faults).toEqual([]);
  });

  test('a GPU: temperature, power, memory and energy, as its sensors tell them', async ({ skip }) => {
    const before = { ...process.env };
    const built = await buildFake();
    onTestFinished(() => {
      for (const name of Object.keys((built as Fake).environment ?? {})) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
      return (built as Fake).remove?.();
    });
    if ('reason' in built) return skip(built.reason);
    const page = await show('run', 'slow.mjs', '--device', 'cuda:0', '--param', 'step=1000000007', '--fresh');
    const row = 'tr[data-device="cuda:0"]';
    await expect.poll(async () => (await cellsOf(page, row)).temperature).toBe('61 °C');
    // fake-nvml.c has these values.
    const fed = expect.stringMatching(/^\d+(\.\d+)? %$/);
    await expect.poll(() => cellsOf(page, row)).toMatchObject({ power: '413 W', memory: bytes(123_456_789), fed });
    await expect.poll(async () => (await cellsOf(page, row)).energy).toMatch(/^[\d.]+ k?J$/);
    expect(await page.locator(`${row} th`).textContent()).toContain('cuda:0');
    // The overview has the same.
    await page.getByRole('link', { name: 'All jobs' }).click();
    await expect.poll(async () => (await cellsOf(page, row)).temperature).toBe('61 °C');
    await expect.poll(async () => (await cellsOf(page, 'tr[data-key]')).energy).toMatch(/^[\d.]+ k?J$/);
    expect(page.faults).toEqual([]);
  });
});

if (!executable) test('the dashboard of a workload', ({ skip }) => skip('chromium is not installed'));
