import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Ledger } from '../src/store/thread/ledger.js';
import { main, millrace } from './command-line.js';
import { wholeEventsIn } from './events.js';
import { noPty, removePty, startInTerminal, type Terminal, type TerminalOptions } from './terminal/pty.js';
import { VirtualScreen } from './terminal/screen.js';
import { byTier, isShort } from './tier.js';
import { zerosFile } from './zeros.js';

/** The command in a real pseudo-terminal: what it shows, what keys do, and how it leaves the terminal. */

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-terminal-'));
  // One hit in two million indices: some per second on one thread, without end.
  writeFileSync(join(folder, 'job.mjs'), zerosFile(21));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  removePty();
});
beforeEach((ctx) => {
  const reason = noPty();
  if (reason !== undefined) ctx.skip(reason);
});

const running: TerminalOptions = { columns: 120, env: { NO_COLOR: '1' } };
const COLOURS = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`);
const RUN = [process.execPath, main, 'run', 'job.mjs', '--device', 'wasm', '--threads', '1', '--no-ledger'];
/** For tests of the terminal alone: no compiler, and little load on the machine. */
const QUIET = [...RUN.map((word) => (word === 'wasm' ? 'interpreter' : word)), '--max-cpu', '20'];
const start = (args: readonly string[] = [], options: TerminalOptions = running): Terminal =>
  startInTerminal([...RUN, ...args], { cwd: folder, ...options });

/** Resolves when the status has been drawn again. */
async function nextPicture(terminal: Terminal): Promise<void> {
  const pictures = () => terminal.text.split('indices').length; // the last line that changes
  for (const before = pictures(); pictures() <= before; ) await new Promise((next) => setTimeout(next, 10));
}

describe.concurrent('the status screen', () => {
  const labels = ['job', 'status', 'started', 'estimated', 'speed', 'total', 'hits', 'progress', 'indices'];

  it('has its lines in order, below the hits, fits 40 columns, and is removed at the end', async () => {
    const terminal = start(['--max-cpu', '20'], { ...running, rows: 40 });
    const screen = await terminal.until(/^ +(\d+) +\1$[\s\S]*^job .*[\s\S]*^hits +[1-9][\s\S]*^\[s\]tatus/m);
    expect(screen.flatMap((line) => /^([a-z]+) {2,}/.exec(line)?.[1] ?? [])).toEqual(labels);
    expect(screen.join('\n')).toMatch(/^speed +wasm +[\d.]+ [kM]?\/s +[\d.]+ m?s +\d+ × [\d.]+ [kM]? .*fed [\d.]+ %/m);
    expect(screen.join('\n')).toMatch(/^total +[\d.]+ [kM]?\/s( {2}10 s [\d.]+ [kM]? {2}max [\d.]+ [kM]?)?$/m);
    expect(screen).toContain('[s]tatus [p]ause [r]esume [q]uit');
    expect(terminal.text).not.toContain('n/a'); // a figure that is not known yet is "measuring"
    await terminal.resize(40, 40);
    expectNarrow(await secondPicture(terminal));
    await terminal.resize(120, 40);
    await secondPicture(terminal);
    expect(terminal.text).not.toMatch(COLOURS);
    terminal.press('q');
    expect(await terminal.ended).toEqual({ how: 'exit 2', isRestored: true });
    expect(terminal.screen.join('\n')).not.toMatch(/^(job|speed|status) /m);
    expect(terminal.screen.join('\n')).toMatch(
      /stopped; everything below [\d,]+ is done, resume with --space \d+:1099511627776$/m,
    );
  });

  /** Nothing is left out, nothing wraps, and the resize has left no traces. */
  function expectNarrow(screen: readonly string[]): void {
    const text = screen.join('\n');
    // Above the status are hits, and warnings on a machine under load.
    const status = screen.slice(screen.findIndex((line) => line.startsWith('job ')));
    expect(Math.max(...status.map((line) => line.length))).toBeLessThan(40);
    for (const label of labels) expect(text.match(new RegExp(`^${label} `, 'gm')), label).toHaveLength(1);
    for (const word of ['wasm', 'fed', 'streams', '1,099,511,627,776']) expect(text).toContain(word);
  }

  /** The screen after two redraws of the status. */
  async function secondPicture(terminal: Terminal): Promise<readonly string[]> {
    await nextPicture(terminal);
    await nextPicture(terminal);
    return terminal.until(/^job [\s\S]*^(keys: s p r q|\[s\]tatus \[p\]ause \[r\]esume \[q\]uit)$/m);
  }

  it.skipIf(isShort)('stays while hits are printed above it', async () => {
    writeFileSync(join(folder, 'many.mjs'), zerosFile(12));
    const command = RUN.map((word) => (word === 'job.mjs' ? 'many.mjs' : word));
    const terminal = startInTerminal([...command, '--max-cpu', '20'], { ...running, rows: 40, cwd: folder });
    await terminal.until(/^hits +[1-9][\s\S]*^\[s\]tatus/m);
    const before = terminal.text.length;
    let missing = 0;
    const isShown = (): boolean => /^job [\s\S]*^\[s\]tatus/m.test(terminal.screen.slice(-15).join('\n'));
    for (let sample = 0; sample < 60; sample++) {
      await new Promise((next) => setTimeout(next, 50));
      // A long write is read in two parts; the second comes at once, or a moment later on a busy machine.
      for (let looks = 0; looks < 20 && !isShown(); looks++) await new Promise((next) => setTimeout(next, 10));
      if (!isShown()) missing++;
    }
    expect(terminal.text.slice(before).match(/^ +\d+ +\d+\r?$/gm)?.length).toBeGreaterThan(20);
    expect(missing).toBeLessThanOrEqual(1);
    terminal.press('q');
    await terminal.ended;
  });

  const without: readonly [how: string, args: readonly string[], options: TerminalOptions][] = [
    ['--json', ['--json'], running],
    ['TERM=dumb', [], { ...running, env: { ...running.env, TERM: 'dumb' } }],
    ['--log warn', ['--log', 'warn'], running],
  ];
  it.each(byTier([], without))('is not shown with %s', async (_, args, options) => {
    const terminal = startInTerminal([...QUIET, ...args, '--runtime', '0.3s'], { ...options, cwd: folder });
    expect(await terminal.ended).toEqual({ how: 'exit 4', isRestored: true });
    expect(terminal.text).not.toContain('\u001b[');
    expect(terminal.text).not.toContain('[q]uit');
    if (args.includes('--json')) wholeEventsIn(terminal.text.replaceAll('\r', ''));
  });
});

describe.concurrent('keys', () => {
  const doneOf = async (terminal: Terminal): Promise<bigint> => {
    const screen = await terminal.until(/^progress +[\d,]+ of/m);
    const [, done = ''] = [...screen.join('\n').matchAll(/^progress +([\d,]+) of/gm)].at(-1)!;
    return BigInt(done.replaceAll(',', ''));
  };

  it('p pauses, r resumes, s keeps a copy of the status, others do nothing; colours unless NO_COLOR is set', async () => {
    const terminal = start(['--max-cpu', '20'], { ...running, env: { NO_COLOR: '' } });
    await terminal.until(/^total/m);
    expect(terminal.text).toMatch(COLOURS);
    terminal.press('xzp');
    await terminal.until(/^status +paused$/m);
    await terminal.until(/^speed .*paused$/m); // further down, so it may appear a moment later
    // Work in flight ends; after that nothing changes.
    let before = await doneOf(terminal);
    for (let same = 0; same < 3; ) {
      await nextPicture(terminal);
      const now = await doneOf(terminal);
      same = now === before ? same + 1 : 0;
      before = now;
    }
    terminal.press('s');
    await terminal.until(/^status +paused$[\s\S]*^status +paused$/m);
    terminal.press('r');
    await terminal.until(/^status +running$/m);
    while ((await doneOf(terminal)) <= before);
    terminal.press('\u0003');
    expect(await terminal.ended).toEqual({ how: 'exit 2', isRestored: true });
  });

  it('c writes a checkpoint: work done before it is not repeated, even after SIGKILL', async () => {
    const data = join(folder, 'data');
    const kept = (): bigint => {
      const ledger = new Ledger(data);
      const [{ done } = { done: -1n }, ...others] = ledger.jobs();
      ledger.close();
      expect(others).toEqual([]);
      return done;
    };
    const args = [...RUN.filter((word) => word !== '--no-ledger'), '--data-dir', data, '--max-cpu', '20'];
    const terminal = startInTerminal(args, { ...running, cwd: folder });
    await terminal.until(/^progress +[1-9][\s\S]*^\[s\]tatus \[p\]ause \[r\]esume \[c\]heckpoint \[q\]uit$/m);
    const seen = await doneOf(terminal);
    terminal.press('c');
    await terminal.until(/^checkpoint written$/m);
    terminal.kill('SIGKILL');
    expect((await terminal.ended).how).toBe('signal 9');
    const before = kept();
    expect(seen).toBeGreaterThan(0n);
    expect(before).toBeGreaterThanOrEqual(seen);
    const { status, events } = await millrace([...args.slice(2), '--json', '--runtime', byTier('0.2s', '0.5s')], {
      cwd: folder,
    });
    expect(status).toBe(4);
    expect(events.find(({ event }) => event === 'job')).toMatchObject({ isResumed: true, done: Number(before) });
    // The ledger rejects an index that is done twice, so every index tried is new.
    expect(kept()).toBe(before + BigInt(Number(events.at(-1)?.tried)));
  });
});

describe.concurrent('the terminal is left as it was', () => {
  const twice = 'Ctrl-C twice';
  const ends: readonly [what: string, end: (terminal: Terminal) => void, how: string][] = [
    [twice, (terminal) => terminal.press('\u0003\u0003'), 'exit 3'],
    ['Ctrl-\\', (terminal) => terminal.press('\u001c'), 'signal 3'],
    ['Ctrl-C', (terminal) => terminal.press('\u0003'), 'exit 2'],
    ['SIGTERM', (terminal) => terminal.kill('SIGTERM'), 'exit 2'],
    ['SIGINT', (terminal) => terminal.kill('SIGINT'), 'exit 2'],
    ['SIGHUP', (terminal) => terminal.kill('SIGHUP'), 'exit 2'],
  ];
  it.each(byTier([], ends))('after %s', async (what, end, how) => {
    // Busy for two interrupts in a row: an idle command ends at the first.
    const terminal = what === twice ? start() : startInTerminal(QUIET, { ...running, cwd: folder });
    await terminal.until(/^total/m);
    end(terminal);
    expect(await terminal.ended).toEqual({ how, isRestored: true });
  });

  it.skipIf(isShort)('after an error in the middle of the work', async () => {
    writeFileSync(
      join(folder, 'fails.mjs'),
      `import job from './job.mjs';
export default { ...job, verify: ({ index }) => { if (index > 900_000n) throw new Error('thrown on purpose'); return true; } };
`,
    );
    const command = RUN.map((word) => (word === 'job.mjs' ? 'fails.mjs' : word));
    const terminal = startInTerminal(command, { ...running, cwd: folder });
    const { how, isRestored } = await terminal.ended;
    expect({ how, isRestored }).toEqual({ how: 'exit 74', isRestored: true });
    expect(terminal.text).toContain('thrown on purpose');
  });

  it('while the command is stopped by Ctrl-Z, and afterwards', async () => {
    // A shell with job control takes the terminal back while the job is stopped.
    const terminal = startInTerminal(
      ['sh', '-mc', `${QUIET.join(' ')}; stty -a | tr ';' '\\n' | grep -c -w -e '-icanon'; fg`],
      {
        ...running,
        cwd: folder,
      },
    );
    await terminal.until(/^total/m);
    terminal.press('\u001a');
    await terminal.until(/^0$/m);
    await terminal.until(/^0$[\s\S]*^total/m);
    terminal.press('q');
    expect((await terminal.ended).isRestored).toBe(true);
  });

  it.skipIf(isShort)('by a command in the background, which does not touch it', async () => {
    const script = `${QUIET.join(' ')} --runtime 0.3s & wait $!; echo ended $?`;
    const terminal = startInTerminal(['sh', '-mc', script], { ...running, cwd: folder });
    await terminal.until(/^ended 4$/m);
    expect((await terminal.ended).isRestored).toBe(true);
  });
});

describe('the virtual screen of these tests', () => {
  it('wraps, overwrites and reflows as a terminal does', () => {
    const screen = new VirtualScreen(5, 3);
    screen.write('abcdefg\nxy\r\u001b[KZ\n');
    expect(screen.lines).toEqual(['abcde', 'fg', 'Z', '']);
    screen.write('\u001b[2A\rnew\u001b[J');
    expect(screen.lines).toEqual(['abcde', 'new']);
    screen.write('er\n');
    screen.resize(3, 3);
    expect(screen.lines).toEqual(['abc', 'de', 'new', 'er', '']);
  });
});
