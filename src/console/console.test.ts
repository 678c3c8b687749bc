import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventsIn } from '../../test/events.js';
import { VirtualScreen } from '../../test/terminal/screen.js';
import type { Device } from '../device/device.js';
import { MillraceError } from '../kernel/error.js';
import { action } from './command/action.js';
import { Exit, exitOf } from './command/exit.js';
import { type Host, withHost } from './command/host.js';
import { startScratchCache } from './command/scratch-cache.js';
import { setUpDevices } from './options/device-options.js';
import { flag, valueOption, wholeNumberParser } from './options/options.js';
import { apiTable } from './output/api-table.js';
import { bytes, count, duration, percent, plural, rate } from './output/format.js';
import { type LiveStream, openLiveLines } from './output/live.js';
import { jsonLine, openOutput, runToExit } from './output/output.js';
import { openScreen } from './output/screen.js';
import { styleFor } from './output/style.js';
import { cutToWidth, table } from './output/table.js';

describe('numbers for people', () => {
  it.each([
    [0, '0 H/s'],
    [0.5, '0.50 H/s'],
    [999, '999 H/s'],
    [999.6, '1.00 kH/s'],
    [1536, '1.54 kH/s'],
    [22.94e6, '22.9 MH/s'],
    [999.6e6, '1.00 GH/s'],
    [7.3e9, '7.30 GH/s'],
  ])('%d is %s', (perSecond, text) => expect(rate(perSecond, 'H')).toBe(text));

  it.each([
    [12e-6, '12.0 µs'],
    [0.000999, '999 µs'],
    [0.0124, '12.4 ms'],
    [3.214, '3.21 s'],
    [59.99, '60.0 s'],
    [245, '4 min 05 s'],
    [7380, '2 h 03 min'],
    [3599.7, '1 h 00 min'],
    [47.9 * 3600, '47 h 54 min'],
    [127 * 3600, '5 d 07 h'],
    [12 * 365.25 * 86_400, '12 years'],
    [2 ** 128 / 1e9, '1.1e+22 years'],
  ])('%d s is %s', (seconds, text) => expect(duration(seconds)).toBe(text));

  it('counts, bytes, shares, plurals', () => {
    expect(count(2083236893)).toBe('2,083,236,893');
    expect(count(1n << 64n)).toBe('18,446,744,073,709,551,616');
    const english = new Intl.NumberFormat('en-US');
    for (const value of [0, 7, 42, 999, 1000, 12_345, 123_456, 1_234_567, 1e21, 2.5, 0.4]) {
      expect(count(value)).toBe(english.format(Math.round(value)));
      expect(count(-Math.ceil(value))).toBe(english.format(-BigInt(Math.ceil(value))));
    }
    expect(bytes(512)).toBe('512 B');
    expect(bytes(16_768_000_000)).toBe('15.6 GiB');
    expect(percent(0.0123)).toBe('1.23 %');
    expect(plural(1, 'block')).toBe('1 block');
    expect(plural(1234, 'block')).toBe('1,234 blocks');
  });
});

it('a table aligns visible text, ignoring colours', () => {
  const { bold } = styleFor({ isTTY: true }, {});
  expect(
    table(
      [
        ['name', 'rate'],
        [bold('a'), '12'],
      ],
      { right: [1], indent: 2 },
    ),
  ).toEqual(['  name  rate', `  ${bold('a')}       12`]);
});

it.each([
  [{ isTTY: false }, {}],
  [{ isTTY: true }, { NO_COLOR: '1' }],
  [{ isTTY: true }, { TERM: 'dumb' }],
])('no colour for %j with %j', (stream, env) => expect(styleFor(stream, env).bad('x')).toBe('x'));

it('an empty NO_COLOR is ignored', () => {
  expect(styleFor({ isTTY: true }, { NO_COLOR: '' }).bad('x')).not.toBe('x');
});

describe('the end of a command', () => {
  const error = new MillraceError({
    code: 'device-absent',
    message: 'no compiler',
    asked: 'native',
    advice: 'get one',
  });

  it.each([
    ['device-unknown', Exit.usage],
    ['device-absent', Exit.noDevice],
    ['device-failed', Exit.deviceWrong],
    ['input-format', Exit.io],
    ['io', Exit.io],
    ['usage', Exit.usage],
    ['kernel-type', Exit.internal],
  ] as const)('%s exits with %d', (code, exit) => expect(exitOf(new MillraceError({ code, message: '' }))).toBe(exit));

  it('prints an error to stderr, in three lines', async () => {
    const { output, stdout, stderr } = capture(false);
    expect(await runToExit(output, () => Promise.reject(error))).toBe(69);
    expect(stdout()).toBe('');
    expect(stderr()).toBe('error: no compiler\n  asked:  native\n  advice: get one\n');
  });

  it('writes events to stdout for programs, done last', async () => {
    const { output, stdout, stderr } = capture(true);
    output.say('words');
    output.line('words');
    expect(await runToExit(output, () => Promise.reject(error))).toBe(69);
    expect(stderr()).toBe('');
    expect(eventsIn(stdout())).toEqual([
      { event: 'error', code: 'device-absent', message: 'no compiler', asked: 'native', advice: 'get one' },
      { event: 'done', exit: 69 },
    ]);
  });

  it('distinguishes an abort from a failure', async () => {
    const { output } = capture(true);
    const controller = new AbortController();
    controller.abort();
    expect(await runToExit(output, async () => controller.signal.throwIfAborted() as never)).toBe(3);
    expect(await runToExit(output, () => Promise.reject(new Error('bug')))).toBe(70);
  });

  /** Runs `body` in a command whose process cannot end: `exit` throws. */
  async function ended(body: () => void) {
    const told: string[] = [];
    const sink = { write: (text: string) => told.push(text) };
    const exits: number[] = [];
    const exit = (status: number): never => {
      exits.push(status);
      throw new Error('the process ends here');
    };
    const own = { args: [], stdin: {}, stdout: sink, stderr: sink, exitCode: undefined, exit } as unknown as Host;
    const command = new Command('x').option('--json');
    const run = async () => {
      expect(body).toThrow('the process ends here');
      return Exit.ok;
    };
    command.action(action(run));
    await withHost(own, () => command.parseAsync(['--json'], { from: 'user' }));
    return { exits, events: eventsIn(told.join('')) };
  }
  /** The handler that the command has added. */
  const handler = (name: string) => process.listeners(name as 'SIGINT').at(-1) as (given: unknown) => void;

  it('reports an uncaught error, then done', async () => {
    const { exits, events } = await ended(() => handler('uncaughtException')(error));
    expect(exits).toEqual([69]);
    expect(events.slice(1, 3)).toEqual([
      { event: 'error', code: 'device-absent', message: 'no compiler', asked: 'native', advice: 'get one' },
      { event: 'done', exit: 69 },
    ]);
  });

  it('is aborted by a second signal', async () => {
    const { exits, events } = await ended(() => {
      handler('SIGINT')('SIGINT');
      handler('SIGINT')('SIGINT');
    });
    expect(exits).toEqual([3]);
    expect(events.slice(1, 3)).toEqual([
      { event: 'error', code: 'aborted', message: 'aborted by the user' },
      { event: 'done', exit: 3 },
    ]);
  });

  it('writes bigints exactly', () => {
    expect(jsonLine({ a: 5n, b: 1n << 60n })).toBe('{"a":5,"b":"1152921504606846976"}');
  });
});

describe('options', () => {
  it('have an environment variable each', () => {
    expect(valueOption('--batch-size <n>', '').envVar).toBe('MILLRACE_BATCH_SIZE');
    expect(flag('--json', '', { MILLRACE_JSON: '1' }).envVar).toBe('MILLRACE_JSON');
    for (const off of ['', '0', 'false', 'NO'])
      expect(flag('--json', '', { MILLRACE_JSON: off }).envVar).toBeUndefined();
  });
  it.each(['', '0', '-1', '1.5', 'x', '1e2', '17'])('%j is not a whole number from 1 to 16', (text) => {
    expect(() => wholeNumberParser(1, 16)(text)).toThrow('from 1 to 16');
  });
});

function capture(json: boolean) {
  const stdout: string[] = [];
  const stderr: string[] = [];
  const sink = (into: string[]) => ({ write: (text: string) => into.push(text) });
  const output = openOutput({ json }, { stdout: sink(stdout), stderr: sink(stderr) });
  return { output, stdout: () => stdout.join(''), stderr: () => stderr.join('') };
}

describe('calls of a driver', () => {
  it('are printed in the layout of nsys', () => {
    const call = (name: string, calls: number, totalNs: number) => ({
      name,
      calls,
      totalNs,
      medianNs: totalNs / calls,
      minNs: 10,
      maxNs: totalNs,
      deviationNs: 0.25,
    });
    expect(apiTable([call('cuEventQuery', 4, 2_000), call('cuLaunchKernel', 3, 6_001_000)])).toEqual([
      ' Time (%)  Total Time (ns)  Num Calls     Avg (ns)     Med (ns)  Min (ns)   Max (ns)  StdDev (ns)  Name',
      ' --------  ---------------  ---------  -----------  -----------  --------  ---------  -----------  --------------',
      '    100.0        6,001,000          3  2,000,333.3  2,000,333.3        10  6,001,000          0.3  cuLaunchKernel',
      '      0.0            2,000          4        500.0        500.0        10      2,000          0.3  cuEventQuery',
    ]);
  });
});

describe('a screen', () => {
  const written = (stream: Partial<LiveStream>) => {
    const text: string[] = [];
    const sink = { ...stream, write: (part: string) => text.push(part) };
    const screen = openScreen(sink);
    screen.show(['one', 'a line that is too long']);
    screen.show(['two']);
    return text;
  };
  it('is overwritten on a terminal, within its window', () => {
    expect(written({ isTTY: true, columns: 11, rows: 24 })).toEqual([
      'one\u001b[K\na line tha\u001b[K\n\u001b[J',
      '\u001b[2A\rtwo\u001b[K\n\u001b[J',
    ]);
  });
  it('only appends elsewhere', () => expect(written({})).toEqual(['one\na line that is too long\n', 'two\n']));

  it('clears all rows of its lines after the window became narrower', () => {
    const text: string[] = [];
    const stream = { isTTY: true, columns: 21, rows: 24, write: (part: string) => text.push(part) };
    const live = openLiveLines(stream);
    live.show(['a line of 18 chars', 'b']);
    stream.columns = 10;
    live.clear();
    live.clear();
    expect(text.slice(1)).toEqual(['\u001b[3A\r\u001b[J']);
  });

  it('stays on the screen while text is written above it', async () => {
    const screen = new VirtualScreen(40, 100);
    const write = (part: string) => screen.write(part.replaceAll('\n', '\r\n')); // as a terminal does
    const stream = { isTTY: true, columns: 40, rows: 24, write };
    const live = openLiveLines(stream);
    live.show(['status', 'help']);
    const hits = Array.from({ length: 200 }, (_, at) => `hit ${at}`);
    for (const hit of hits) {
      live.writeAbove(`${hit}\n`, stream);
      expect(screen.lines.slice(-3)).toEqual(['status', 'help', '']);
      if (hit.endsWith('50')) await new Promise((next) => setTimeout(next, 60)); // between two writes
    }
    live.show(['other']);
    expect(screen.lines).toEqual([...hits, 'other', '']);
    live.writeAbove('last\n', stream);
    live.clear();
    expect(screen.lines).toEqual([...hits, 'last', '']);
  });

  it('is cut by visible width, with colours closed', () => {
    const { good } = styleFor({ isTTY: true }, {});
    expect(cutToWidth(`${good('green')} and more`, 8)).toBe(`${good('green')} an`);
    expect(cutToWidth(good('green'), 2)).toBe(good('gr'));
    expect(cutToWidth('short', 9)).toBe('short');
  });
});

describe('diagnostics and events in files', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-log-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are written immediately, one per line', () => {
    const [log, events] = [join(folder, 'log'), join(folder, 'events')];
    const stderr: string[] = [];
    const sink = { write: (part: string) => stderr.push(part) };
    const output = openOutput({ extraVerbose: log, events }, { stdout: sink, stderr: sink });
    const opening = setUpDevices({ threads: 3, apiTable: true }, output);
    expect(opening.options).toMatchObject({ threads: 3, telemetry: true });
    opening.options.log?.('stream 0 opened');
    expect(readFileSync(log, 'utf8')).toMatch(/^ +\d+\.\d{6} {2}stream 0 opened\n$/);
    output.event('warning', { message: 'x' });
    expect(readFileSync(events, 'utf8')).toBe('{"event":"warning","message":"x"}\n');
    expect(stderr).toEqual([]);
    output.close();
  });

  it('the table of calls goes to stderr if stdout is data', async () => {
    const [stdout, stderr]: string[][] = [[], []];
    const sink = (into: string[] = []) => ({ write: (part: string) => into.push(part) });
    const output = openOutput({ isData: true }, { stdout: sink(stdout), stderr: sink(stderr) });
    const figures = { calls: [], launches: 7, polls: 8, blockingWaits: 0, blockedNs: 0, lostCallbacks: 0 };
    const device = { info: { id: 'cuda:0' }, telemetry: async () => figures };
    await setUpDevices({ apiTable: true }, output).reportApiCalls(device as unknown as Device);
    expect(stdout).toEqual([]);
    expect(stderr?.join('')).toMatch(/cuda:0.*driver calls.*7 launches, 8 polls, 0 blocking waits/s);
    output.close();
  });

  it.each(['extraVerbose', 'events'])('a path that cannot be written is an error: %s', (option) => {
    expect(() => openOutput({ [option]: join(folder, 'none', 'log') })).toThrow(/cannot write/);
  });
  it('without a file, devices are not asked for diagnostics', () => {
    expect(setUpDevices({}, capture(false).output).options.log).toBeUndefined();
  });
});

it('a scratch cache exists until it ends, then is removed', () => {
  const before = process.env.MILLRACE_CACHE_DIR;
  const scratch = startScratchCache();
  const inside = process.env.MILLRACE_CACHE_DIR ?? '';
  expect(existsSync(dirname(inside))).toBe(true);
  expect(process.env.POCL_CACHE_DIR).toContain(dirname(inside));
  scratch.end();
  expect(process.env.MILLRACE_CACHE_DIR).toBe(before);
  expect(existsSync(dirname(inside))).toBe(false);
});
