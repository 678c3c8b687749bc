import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { count, duration, percent, rate } from '../src/console/output/format.js';
import { Commands, factsOf, openPage, QUIET, RunningCommand, slowFile } from './dashboard.js';
import type { Event } from './events.js';
import { executable, useChromium } from './page.js';
import { isShort, patience } from './tier.js';

const fastClock = new URL('store/fast-clock.mjs', import.meta.url).href;

/** Every figure of a job's page is held against the events of the command. */
describe.skipIf(!executable || isShort)('the figures of a job', { timeout: patience(120_000) }, () => {
  const commands = new Commands();
  const chromium = useChromium();

  afterAll(() => commands.close());

  interface Progress extends Event {
    readonly state: string;
    readonly seconds: number;
    readonly done: number;
    readonly length: number;
    readonly fraction: number;
    readonly perSecond: number;
    readonly maxPerSecond?: number;
    readonly rates: { readonly tenSeconds?: number; readonly minute?: number; readonly quarterHour?: number };
    readonly etaSeconds: number;
    readonly hits: number;
    readonly current?: { readonly from: number; readonly to: number };
    readonly restorePoint?: { readonly done: number; readonly secondsAgo: number };
    readonly devices: readonly DeviceProgress[];
  }

  interface DeviceProgress {
    readonly id: string;
    readonly perSecond?: number;
    readonly share?: number;
    readonly fed?: number;
    readonly chunkMs?: number;
    readonly queueDepth: number;
    readonly activeStreams: number;
  }

  const NONE = '–';
  const orNone = <T>(value: T | undefined, text: (value: T) => string): string =>
    value === undefined ? NONE : text(value);

  /** What the page says of an event, except for times of day. */
  const factsFor = (event: Progress): Record<string, string> => {
    const fed = event.devices.flatMap((device) => device.fed ?? []);
    return {
      state: event.state,
      rate: orNone(event.perSecond, (value) => rate(value, '')),
      'highest rate': orNone(event.maxPerSecond, (value) => rate(value, '')),
      fed: fed.length === 0 ? NONE : percent(fed.reduce((sum, one) => sum + one, 0) / fed.length),
      done: `${count(event.done)} of ${count(event.length)} (${percent(event.fraction)})`,
      left: orNone(event.etaSeconds, duration),
      hits: count(event.hits),
      indices: orNone(event.current, ({ from, to }) => `${count(from)} to ${count(to)}`),
      'restore point': event.restorePoint
        ? `${count(event.restorePoint.done)}, ${duration(event.restorePoint.secondsAgo)} ago`
        : 'nothing is stored',
      'running for': duration(event.seconds),
    };
  };

  const cellsFor = (device: DeviceProgress): string[] => [
    orNone(device.perSecond, (value) => rate(value, '')),
    orNone(device.share, percent),
    orNone(device.fed, percent),
    orNone(device.chunkMs, (ms) => duration(ms / 1000)),
    `${device.queueDepth} on ${device.activeStreams}`,
  ];

  test('are those of one event: of the job, and of each of two devices', async () => {
    commands.write('rare.mjs', slowFile('2n ** 40n').replace('step: 64', 'step: 50_000_000'));
    const devices = ['--device', 'interpreter,wasm', '--max-cpu', '30'];
    const command = await commands.start('run', 'rare.mjs', ...devices, '--dashboard', '--fresh');
    const page = await openPage(chromium.browser, await command.url);
    await page.locator('tbody th a').click();
    const shown = (): Promise<Record<string, string[]>> =>
      page.evaluate(
        `Object.fromEntries([...document.querySelectorAll('tr[data-device]')].map((row) =>
           [row.dataset.device, [...row.querySelectorAll('td')].slice(0, 5).map((cell) => cell.textContent)]))`,
      );
    // Figures that are not known yet are the same on every page: wait until all are.
    const isFull = ({ devices: all, ...event }: Progress): boolean =>
      event.hits > 0 &&
      event.maxPerSecond !== undefined &&
      event.current !== undefined &&
      event.restorePoint !== undefined &&
      all.every(({ share, fed, perSecond }) => share !== undefined && fed !== undefined && perSecond !== undefined);
    const full = (): Progress[] => (command.all('progress') as Progress[]).filter(isFull);
    await expect
      .poll(
        async () => {
          const [facts, rows] = [await factsOf(page), await shown()];
          return full().some(
            (event) =>
              Object.entries(factsFor(event)).every(([name, text]) => facts[name] === text) &&
              event.devices.length === 2 &&
              event.devices.every((device) => cellsFor(device).join() === rows[device.id]?.join()),
          );
        },
        { timeout: patience(60_000), interval: 50 },
      )
      .toBe(true);
    for (const { devices: all } of full()) expect(all.reduce((sum, { share = 0 }) => sum + share, 0)).toBeCloseTo(1, 9);
    expect(page.faults).toEqual([]);
    command.kill('SIGTERM');
    await command.ended;
  });

  test('shows the least, the mean and the highest rate of the events so far', async () => {
    const command = await commands.start('run', 'slow.mjs', ...QUIET, '--dashboard', '--no-ledger');
    const page = await openPage(chromium.browser, await command.url);
    await page.locator('tbody th a').click();
    // In the first 10 s the rate since the start stands for that over 10 s.
    const tenSeconds = ({ rates, perSecond }: Progress): number => rates.tenSeconds ?? perSecond;
    const textOf = (events: readonly Progress[]): string => {
      const all = events.flatMap((event) => tenSeconds(event) ?? []);
      const { minute } = events.at(-1)?.rates ?? {};
      const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
      return [
        `10 s ${rate(all.at(-1) ?? -1, '')} · 60 s ${minute === undefined ? '–' : rate(minute, '')} · 15 min –`,
        `min ${rate(Math.min(...all), '')} · avg ${rate(mean, '')} · max ${rate(Math.max(...all), '')}`,
      ].join(' · ');
    };
    const differs = (events: readonly Progress[]): boolean => new Set(events.map(tenSeconds)).size > 3;
    const isSame = async (): Promise<boolean> => {
      const text = await page.locator('[data-test=rates]').textContent();
      const events = command.all('progress') as Progress[];
      return events.some((_, last) => differs(events.slice(0, last)) && text === textOf(events.slice(0, last)));
    };
    await expect.poll(isSame).toBe(true);
    expect(page.faults).toEqual([]);
    command.kill('SIGTERM');
    await command.ended;
  });

  test('draws the rate over 15 minutes from the moment when the job has run that long', async () => {
    // A minute takes a third of a second.
    const env = { ...process.env, NODE_OPTIONS: `--import ${fastClock}`, FAST_CLOCK: '180' };
    const args = ['run', 'slow.mjs', '--device', 'interpreter', '--dashboard', '--no-ledger', '--json'];
    const command = new RunningCommand(commands.folder, args, env);
    onTestFinished(async () => {
      command.kill('SIGKILL');
      await command.ended;
    });
    const page = await openPage(chromium.browser, await command.url);
    await page.locator('tbody th a').click();
    await page.getByRole('radio', { name: '15 min' }).check();
    const known = (): string[] =>
      (command.all('progress') as Progress[]).flatMap(({ rates: { quarterHour } }) =>
        quarterHour === undefined ? [] : rate(quarterHour, ''),
      );
    const chart = page.getByRole('img', { name: /^Rate over time/ });
    /** The value of the line at a share of the chart's width, as the legend tells it to a pointer there. */
    const valueAt = async (share: number): Promise<string> => {
      const { width = 0, height = 0 } = (await chart.locator('.u-over').boundingBox()) ?? {};
      await chart.locator('.u-over').hover({ position: { x: Math.round(share * (width - 1)), y: height / 2 } });
      return (await chart.locator('.u-series', { hasText: 'total' }).locator('.u-value').textContent()) ?? '';
    };
    await expect.poll(known).not.toEqual([]);
    await expect.poll(async () => known().includes(await valueAt(1))).toBe(true);
    await expect.poll(() => valueAt(0)).toBe(NONE);
    const now = async (): Promise<string> => ((await chart.getAttribute('aria-label')) ?? '').split(', now ')[1] ?? '';
    await expect.poll(async () => known().includes(await now())).toBe(true);
    const line = await page.locator('[data-test=rates]').textContent();
    expect(line).toMatch(/ · 15 min [\d.]+ .* · min [\d.]+ .* · avg [\d.]+ .* · max [\d.]+ /);
    expect(page.faults).toEqual([]);
  });
});

if (!executable) test('the figures of a job', ({ skip }) => skip('chromium is not installed'));
