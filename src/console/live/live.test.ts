import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultOf } from '../../../test/events.js';
import { byTier, isShort } from '../../../test/tier.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between } from '../../engine/work/space.js';
import { openOutput } from '../output/output.js';
import { announce } from './announce.js';
import { EventHub } from './event-hub.js';
import { LiveTask } from './live-task.js';
import { controlProcess, liveProcesses, traceOf, watchProcess } from './processes.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-live-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sink = { write: () => undefined };
const until = (condition: () => boolean) => expect.poll(condition).toBe(true);

describe('the hub of events', () => {
  it('gives a watcher the present state first, and then what happens', () => {
    const hub = new EventHub();
    hub.publish('start', { command: 'run' });
    for (const seconds of [1, 2]) hub.publish('progress', { seconds });
    for (const id of ['cuda:0', 'cpu', 'cpu']) hub.publish('device', { id, name: id });
    hub.publish('prepared', {});
    for (let index = 0; index < 3000; index++) hub.publish('hit', { index, hit: {} });
    const lines: string[] = [];
    const end = hub.watch((line) => lines.push(line));
    const names = lines.map((line) => (JSON.parse(line) as { event: string }).event);
    expect(names.filter((name) => name !== 'hit')).toEqual(['start', 'progress', 'device', 'device']);
    expect(lines[1]).toBe('{"event":"progress","seconds":2}');
    expect(names.filter((name) => name === 'hit').length).toBeLessThanOrEqual(1100);
    expect(lines.at(-1)).toContain('2999');
    hub.publish('hit', { index: 2n ** 70n, hit: { token: 'abc' } });
    expect(lines.at(-1)).toBe('{"event":"hit","index":"1180591620717411303424","hit":{"token":"…"}}');
    hub.hasStoredHits = true;
    hub.publish('hit', { index: 1, hit: {} });
    expect(lines.at(-1)).toContain('1180591620717411303424');
    end();
    expect(hub.isWatched).toBe(false);
  });
});

describe('a running process', () => {
  /** A path that is too long for a socket. */
  const longFolder = () => join(folder, 'd'.repeat(60), 'e'.repeat(60));

  it.each(byTier(['short'], ['short', 'long']))(
    'is found by its socket, watched and controlled; %s path',
    async (length) => {
      const data = length === 'short' ? join(folder, 'data') : longFolder();
      mkdirSync(data, { recursive: true });
      const output = openOutput({}, { stdout: sink, stderr: sink });
      const calls: unknown[] = [];
      const controls = {
        stop: (exit: number) => void calls.push(exit),
        setPriority: async (n: number) => void calls.push(n),
      };
      const space = { start: 7n, length: 2n ** 100n };
      const coverage = () => ({
        done: Intervals.of([between(7n, 107n)]),
        onDevice: Intervals.of([between(107n, 207n)]),
        unconfirmed: Intervals.of([between(207n, 210n)]),
        redone: Intervals.none,
      });
      const job = { name: 'zeros', unit: 'H', ...space, coverage };
      const task = new LiveTask(output.hub, job, controls, (isPaused) => void calls.push(isPaused));
      task.start();
      const announcement = announce(data, output);
      await until(() => liveProcesses(data).length === 1);
      const [found] = liveProcesses(data);
      expect(found?.pid).toBe(process.pid);
      await until(() => (statSync(join(data, 'live', found!.name)).mode & 0o777) === 0o600);
      expect(statSync(join(data, 'live')).mode & 0o777).toBe(0o700);
      const events: { event: string; done?: unknown[]; unconfirmed?: unknown[] }[] = [];
      const end = await watchProcess(
        data,
        found!,
        (line) => events.push(JSON.parse(line)),
        () => undefined,
      );
      await until(() => output.hub.isWatched);
      task.publishDetails();
      await until(() => events.some(({ event }) => event === 'coverage'));
      expect(events.flatMap((event) => faultOf(event) ?? [])).toEqual([]);
      expect(events.map(({ event }) => event)).toEqual(['task', 'coverage']);
      expect(events[1]).toMatchObject({ bins: 240, start: 7, length: (2n ** 100n).toString() });
      expect(events[1]?.done?.slice(0, 2)).toEqual([100, 0]);
      expect(events[1]?.unconfirmed?.slice(0, 2)).toEqual([3, 0]);
      expect(await controlProcess(data, found!, { action: 'pause' })).toBe('paused');
      expect(await controlProcess(data, found!, { action: 'priority', priority: 3 })).toBe('priority 3');
      await expect(controlProcess(data, found!, { action: 'priority', priority: 1e6 })).rejects.toThrow(
        '-9999 to 9999',
      );
      await expect(controlProcess(data, found!, { action: 'cancel' })).rejects.toThrow('not in the ledger');
      await expect(traceOf(data, found!).next()).rejects.toThrow('chunks are not recorded');
      output.hub.trace = () => ['[1,', '2]'];
      let trace = '';
      for await (const part of traceOf(data, found!)) trace += part;
      expect(trace).toBe('[1,2]');
      expect(calls).toEqual([true, 3]);
      end();
      await until(() => !output.hub.isWatched);
      announcement.end();
      expect(readdirSync(join(data, 'live'))).toEqual([]);
    },
  );

  it.skipIf(isShort)('makes no directory, and the socket of a dead one is removed by the next reader', async () => {
    const none = join(folder, 'none');
    const announcement = announce(none, openOutput({}, { stdout: sink, stderr: sink }));
    await new Promise((next) => setTimeout(next, 600));
    announcement.end();
    expect(existsSync(none)).toBe(false);
    const data = join(folder, 'dead');
    mkdirSync(join(data, 'live'), { recursive: true });
    writeFileSync(join(data, 'live', '1.sock'), '');
    const [dead] = liveProcesses(data);
    await expect(controlProcess(data, dead!, { action: 'pause' })).rejects.toThrow('does not answer');
    expect(liveProcesses(data)).toEqual([]);
  });
});
