import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { program } from '../src/cli/program.js';
import { cleanEnvironment, interrupted, main, millrace, millraceProcess, signalled } from './command-line.js';
import { eventsOf, schema, wholeEventsIn } from './events.js';
import { byTier, isShort } from './tier.js';
import { zerosFile } from './zeros.js';

/** Behaviour that all commands share: options, settings, events, exits. */
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-conventions-'));
  writeFileSync(join(folder, 'job.mjs'), zerosFile(16));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]) => ['run', 'job.mjs', '--device', 'wasm', '--threads', '1', '--no-ledger', ...args];

const root = await program();
const leaves = (command: Command, path: readonly string[] = []): [name: string, command: Command][] =>
  command.commands.length === 0
    ? [[path.join(' '), command]]
    : command.commands.flatMap((one) => leaves(one, [...path, one.name()]));

describe.each(leaves(root))('%s', (_, command) => {
  it('has examples and the common options in its help', () => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/\nExamples:\n {2}(millrace|eval) /);
    for (const name of ['--json', '--events', '--log', '--extra-verbose', '--config', '--help'])
      expect(help).toContain(name);
  });
  it('has an environment variable for each option with a value', () => {
    const variables = command.options
      // Options without a value are not checked, and --no-… negates another option.
      .filter(({ required, optional, hidden }) => (required || optional) && !hidden)
      .map((option) => [option.long, option.envVar]);
    for (const [long, variable] of variables) {
      const usual = `MILLRACE_${String(long).slice(2).toUpperCase().replaceAll('-', '_')}`;
      expect(long === '--data-dir' ? ['MILLRACE_HOME', 'MILLRACE_DATA_DIR'] : [usual]).toContain(variable);
    }
  });
});

describe('settings', () => {
  const config = (value: unknown): NodeJS.ProcessEnv => {
    const home = mkdtempSync(join(folder, 'home-'));
    mkdirSync(join(home, 'millrace'));
    writeFileSync(join(home, 'millrace', 'config.json'), JSON.stringify(value));
    return { XDG_CONFIG_HOME: home };
  };
  const target = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<unknown> => {
    const { status, stdout } = await millrace(['kernel', 'show', 'words', '--json', ...args], { env });
    return status === 0 ? eventsOf(stdout).at(-1)?.target : status;
  };

  it('file < environment < flag', async () => {
    const env = config({ target: 'cuda', kernel: { show: { target: 'wgsl' } }, words: { device: 'cpu' } });
    expect(await target([], {})).toBe('c');
    expect(await target([], env)).toBe('wgsl');
    expect(await target([], { ...env, MILLRACE_TARGET: 'opencl' })).toBe('opencl');
    expect(await target(['--target', 'ir'], { ...env, MILLRACE_TARGET: 'opencl' })).toBe('ir');
    const other = join(folder, 'other.json');
    writeFileSync(other, '{ "target": "wat" }');
    expect(await target(['--config', other], env)).toBe('wat');
  });

  it('that are unknown are errors that name the key, for other commands too', async () => {
    const { status, stderr } = await millrace(['devices'], { env: config({ run: { 'max-tmp': 80 } }) });
    expect(status).toBe(64);
    expect(stderr).toContain('"max-tmp" in "run" is not an option or a command');
    const result = await millrace(['devices', '--json'], { env: config({ devise: 'cpu' }) });
    expect(eventsOf(result.stdout)).toMatchObject([
      { event: 'error', code: 'usage' },
      { event: 'done', exit: 64 },
    ]);
  });

  it('that are invalid do not affect --help and --version', async () => {
    const env = config({ devise: 'cpu' });
    expect((await millrace(['--version'], { env })).status).toBe(0);
    expect((await millrace(['devices', '--help'], { env })).status).toBe(0);
  });
});

describe('events', () => {
  it('have a schema, which the command prints and the package exports', async () => {
    const { status, stdout } = await millrace(['schema', 'events']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual(schema);
  });

  it('go to a file, and the normal output stays the same', async () => {
    const file = join(folder, 'events.jsonl');
    const result = await millrace(run('--space', '2^18', '--events', file), { cwd: folder });
    expect(result.status).toBe(0);
    expect(result.stdout).toMatch(/^ *\d+ +\d+\n/);
    const events = wholeEventsIn(readFileSync(file, 'utf8'));
    expect(events[0]).toMatchObject({ event: 'start', schema: 1, command: 'run' });
    expect(events.filter(({ event }) => event === 'hit')).toHaveLength(result.stdout.trimEnd().split('\n').length);
  });

  it.each([
    ['--events', ['--events', join('none', 'x')]],
    ['--extra-verbose', ['-e', join('none', 'x')]],
  ])('a path for %s that cannot be written is reported before work starts', async (_, args) => {
    const { status, stdout } = await millrace(run('--json', ...args), { cwd: folder });
    expect(status).toBe(74);
    expect(eventsOf(stdout).map(({ event }) => event)).toEqual(['error', 'done']);
  });
});

describe.runIf(process.platform === 'linux')('a full disk', () => {
  it.each([
    ['events', ['--events', '/dev/full']],
    ['diagnostics', ['-e', '/dev/full']],
  ])('for %s is reported once and ends the command', async (_, args) => {
    const { status, stdout } = await millrace(run('--json', ...args), { cwd: folder });
    expect(status).toBe(74);
    expect(wholeEventsIn(stdout).slice(1)).toMatchObject([
      { event: 'error', code: 'io', message: expect.stringContaining('cannot write /dev/full') as unknown },
      { event: 'done', exit: 74 },
    ]);
  });

  it.each([
    [run('--space', '2^18')],
    [run('--space', '2^18', '--json')],
    [['devices']],
    [['kernel', 'show', 'block']],
    [['--version']],
  ])('for stdout is reported on stderr: %j', (args) => {
    const full = openSync('/dev/full', 'w');
    const env = cleanEnvironment();
    const { status, stderr } = spawnSync(process.execPath, [main, ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', full, 'pipe'],
    });
    closeSync(full);
    expect(status).toBe(74);
    const lines = String(stderr).trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('error:'))).toEqual([
      'error: stdout cannot be written: no space left on device',
    ]);
    if (args.includes('--json')) expect(lines).toHaveLength(1);
  });
});

describe('a run', () => {
  const kill =
    (signal: NodeJS.Signals) =>
    (pid: number): void =>
      void process.kill(pid, signal);

  // SIGTERM is also sent by test/network-stopping.
  it.each(byTier<NodeJS.Signals[]>(['SIGINT'], ['SIGINT', 'SIGTERM', 'SIGHUP']))(
    'stops on %s and prints where to resume',
    async (signal) => {
      const ended = await (isShort
        ? signalled(run('--json'), [[/"hit"/, signal]], { cwd: folder })
        : interrupted(run('--json'), { cwd: folder, when: /"hit"/, act: kill(signal) }));
      expect(ended).toMatchObject({ status: 2, stderr: '' });
      expect(wholeEventsIn(ended.stdout).at(-1)).toMatchObject({
        exit: 2,
        next: expect.stringMatching(/^\d+:1099511627776$/),
      });
    },
  );

  it('aborts on a second signal and reports it', async () => {
    const act = (pid: number): void => {
      process.kill(pid, 'SIGINT');
      // Two identical signals at once count as one.
      process.kill(pid, 'SIGTERM');
    };
    const ended = await interrupted(run('--json'), { cwd: folder, when: /"hit"/, act });
    expect(ended.status).toBe(3);
    expect(wholeEventsIn(ended.stdout).slice(-2)).toEqual([
      { event: 'error', code: 'aborted', message: 'aborted by the user' },
      { event: 'done', exit: 3 },
    ]);
  });

  it('exits with 4 after --runtime and prints where to resume', async () => {
    const { status, stdout } = await millrace(run('--json', '--runtime', byTier('0.2s', '0.5s')), { cwd: folder });
    expect(status).toBe(4);
    expect(eventsOf(stdout).at(-1)).toMatchObject({ exit: 4, next: expect.any(String) as unknown });
  });

  it('exits with 0 if the reader closes the pipe', async ({ skip }) => {
    if (isShort) return skip('covered by test/cli and test/words-cli: npm run test:all');
    const child = spawn(process.execPath, [main, ...run()], { cwd: folder, env: cleanEnvironment() });
    child.stdout.once('data', () => child.stdout.destroy());
    child.stderr.resume();
    expect(await new Promise((resolve) => child.on('close', (code, signal) => resolve(signal ?? code)))).toBe(0);
  });

  it('appends status lines at the given interval without a terminal', async () => {
    const { status, stdout, stderr } = await millrace(
      run('--status', '1s', '--runtime', byTier('1.5s', '3s'), '--max-cpu', '20'),
      {
        cwd: folder,
      },
    );
    expect(status).toBe(4);
    expect(stdout + stderr).not.toContain('\u001b');
    expect(stderr).toMatch(/^\[\d{4}-.*\] {2}zeros {2}speed [\d.]+ [kM]?\/s {2}/m);
    expect(stderr).not.toContain('n/a');
  });
});

describe('limits', () => {
  it('--max-memory: too little is an error; a little gives the same results', async () => {
    const little = await millrace(run('--space', '2^16', '--max-memory', '1K'), { cwd: folder });
    expect(little.status).toBe(69);
    expect(little.stderr).toContain('--max-memory');
    const enough = await millrace(run('--space', '2^18', '--max-memory', '100K'), { cwd: folder });
    expect(enough.status).toBe(0);
    expect(enough.stdout).toBe((await millrace(run('--space', '2^18'), { cwd: folder })).stdout);
  });
  it('--max-cpu and --profile desktop do not change the results', async () => {
    const space = byTier('2^18', '2^19');
    const usual = await millrace(run('--space', space), { cwd: folder });
    expect(usual.stdout).not.toBe('');
    const limited = await millrace(run('--space', space, '--max-cpu', '20'), { cwd: folder });
    expect(limited.stdout).toBe(usual.stdout);
    const polite = millraceProcess(run('--space', space, '--profile', 'desktop'), { cwd: folder });
    expect(polite.stdout).toBe(usual.stdout);
  });
});

describe('credentials', () => {
  it('appear in no output: errors, events, diagnostics, command lines', async () => {
    const [events, log] = [join(folder, 'e'), join(folder, 'l')];
    const address = 'stratum+tcp://ann.worker:hunter2@pool.example';
    for (const args of [
      ['run', address, '--events', events, '-e', log, '--log', 'debug'],
      ['run', 'job.mjs', '--device', address, '--json'],
      ['devices', `--${address}`],
      ['run', '--pool-password=hunter2'],
    ]) {
      const { status, stdout, stderr } = await millrace(args, { cwd: folder });
      expect(status).not.toBe(0);
      expect(stdout + stderr).not.toBe('');
      expect(stdout + stderr, args.join(' ')).not.toContain('hunter2');
    }
    expect(readFileSync(events, 'utf8') + readFileSync(log, 'utf8')).not.toContain('hunter2');
    expect(readFileSync(log, 'utf8')).toContain('stratum+tcp://…@pool.example');
  });
});

describe('cache', () => {
  it('is shown, and cleared only of our own files', async () => {
    const cache = mkdtempSync(join(folder, 'cache-'));
    const env = { MILLRACE_CACHE_DIR: cache };
    expect((await millrace(['cache'], { env })).stdout).toContain('0 entries');
    const entry = 'a'.repeat(64);
    mkdirSync(join(cache, entry));
    writeFileSync(join(cache, entry, 'kernel.so'), 'x'.repeat(2048));
    for (const name of ['.new-old', '.new-young']) mkdirSync(join(cache, name));
    utimesSync(join(cache, '.new-old'), 1e9, 1e9);
    writeFileSync(join(cache, 'failed-x.c'), 'text');
    writeFileSync(join(cache, 'letter.txt'), 'mine');
    mkdirSync(join(cache, 'folder'));
    const [done] = eventsOf((await millrace(['cache', '--json'], { env })).stdout);
    expect(done).toMatchObject({ exit: 0, entries: 4, bytes: 2052 });
    expect((await millrace(['cache', '--clear'], { env })).stdout).toMatch(/deleted 3 entries, 2\.00 KiB$/m);
    expect(readdirSync(cache).sort()).toEqual(['.new-young', 'folder', 'letter.txt']);
    expect(
      (await millrace(['cache', '--clear'], { env: { MILLRACE_CACHE_DIR: join(cache, 'letter.txt') } })).status,
    ).toBe(74);
    expect(readFileSync(join(cache, 'letter.txt'), 'utf8')).toBe('mine');
  });
});

describe('completion', () => {
  const script = async (shell: string): Promise<string> => {
    const { status, stdout } = await millrace(['completion', shell]);
    expect(status).toBe(0);
    const file = join(folder, `millrace.${shell}`);
    writeFileSync(file, stdout);
    return file;
  };

  it.for(['bash', 'zsh', 'fish'])('for %s is a script that the shell can read', async (shell, { skip }) => {
    if (spawnSync(shell, ['-c', 'exit 0']).status !== 0) return skip(`no ${shell}`);
    const { status, stderr } = spawnSync(shell, ['-n', await script(shell)], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.each(['bash', 'zsh', 'fish'])('for %s has every command and every option', async (shell) => {
    const text = readFileSync(await script(shell), 'utf8');
    const named = (flag: string): string => (shell === 'fish' ? `-l ${flag.slice(2)} ` : flag);
    const check = (command: Command): void => {
      for (const { long, hidden } of command.options) {
        if (!hidden && long) expect(text.includes(named(long)), `${command.name()} ${long}`).toBe(true);
      }
      for (const one of command.commands) {
        expect(text).toMatch(new RegExp(`\\b${one.name()}\\b`));
        check(one);
      }
    };
    check(root);
  });

  it('completes commands, options, choices and devices in bash', async ({ skip }) => {
    if (spawnSync('bash', ['-c', 'exit 0']).status !== 0) return skip('no bash');
    const file = await script('bash');
    const completed = (...words: string[]): string[] => {
      const typed = ['millrace', ...words].map((word) => `'${word}'`).join(' ');
      const text = `. '${file}'; COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-c', text], { encoding: 'utf8' });
      expect(stderr).toBe('');
      return stdout.split('\n').filter((line) => line !== '');
    };
    expect(completed('')).toEqual(root.commands.map((command) => command.name()));
    expect(completed('ke')).toEqual(['kernel']);
    expect(completed('block', 's')).toEqual(['solve']);
    expect(completed('run', '--max-')).toEqual(expect.arrayContaining(['--max-cpu', '--max-memory', '--max-temp']));
    expect(completed('run', 'x.ts', '--mode', 'a')).toEqual(['all', 'any', 'arrival']);
    expect(completed('run', '--device', 'wa')).toEqual(['wasm']);
    expect(completed('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(completed('run', '')).toEqual([]); // files, which bash itself completes
  });

  it('rejects other shells', async () => {
    expect((await millrace(['completion', 'tcsh'])).status).toBe(64);
  });
});
