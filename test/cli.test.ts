import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { millrace as command, main } from './command-line.js';
import { eventsOf as events } from './events.js';
import { byTier, isShort } from './tier.js';

// The built command as users see it: arguments, two streams and an exit status.
const data = fileURLToPath(new URL('./data/block/', import.meta.url));
const version = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
  .version;

const hasCompiler = spawnSync('cc', ['--version']).status === 0;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('help and version', () => {
  it.each([['--help'], ['-h'], []])('%s shows the commands on stdout', async (...args) => {
    const { status, stdout, stderr } = await millrace(...args);
    expect(status).toBe(0);
    expect(stderr).toBe('');
    const names = [
      'tour',
      'devices',
      'doctor',
      'selftest',
      'init',
      'run',
      'kernel',
      'bench',
      'block',
      'cache',
      'completion',
    ];
    for (const name of names) expect(stdout).toContain(`  ${name} `);
  });
  it.each(['--version', '-V'])('%s prints the version', async (flag) => {
    const { status, stdout, stderr } = await millrace(flag);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{12}\n$/);
    expect(stdout.startsWith(`${version}+`)).toBe(true);
  });
  it.each([[['help']], [['help', 'jobs', 'list']]])('%j is the help of a command', async (args) => {
    const { status, stdout } = await millrace(...args);
    expect({ status, stdout }).toEqual({ status: 0, stdout: (await millrace(...args.slice(1), '--help')).stdout });
  });
  it('a command group without a subcommand is a usage error that lists the subcommands', async () => {
    const { status, stdout, stderr } = await millrace('block');
    expect(status).toBe(64);
    expect(stdout).toBe('');
    expect(stderr).toContain('solve');
  });
});

describe('invalid command lines', () => {
  it.each([
    [['frobnicate'], "unknown command 'frobnicate'"],
    [['devces'], 'Did you mean devices'],
    [['devices', '--frobnicate'], "unknown option '--frobnicate'"],
    [['jobs', 'sohw'], "unknown command 'sohw' (Did you mean show?)\n  advice: millrace jobs --help"],
    [['tune', 'wrods'], "value 'wrods' is invalid for argument 'workload'. Allowed choices are block"],
    [['devices', 'too', 'many'], 'too many arguments'],
    [['block', 'solve', 'only-one'], "missing required argument 'out'\n  advice: millrace block solve --help"],
    [['block', 'solve', 'a', 'b', '--threads', 'x'], 'Expected a whole number from 1 to 1024.'],
    [['block', 'solve', 'a', 'b', '--nonces', '5:4'], 'FROM:TO'],
    [['bench', 'block', '--runs', '2'], 'Expected a whole number from 3 to 1000.'],
    [['bench', 'block', '--pipeline', 'hope'], 'Allowed choices are sync, poll, callback, persistent'],
    [['block', 'mine', '--version-mask', 'mask'], 'up to eight hex digits'],
    [['block', 'mine', '--version-mask', '0xffffffff'], '24 bits'],
    [['block', 'mine', '--suggest-difficulty', '0'], 'above 0'],
    [['selftest', '--completion', 'hope'], 'Allowed choices are poll, callback, sync'],
    [['devices', '--watch', 'x'], 'Expected a whole number from 1 to 86400.'],
    [['selftest', '--device', 'interpreter', '--filter', 'no such thing'], 'no case matches the filter'],
    [['kernel', 'show', 'block', '--target', 'cobol'], 'Allowed choices are c, wat, cuda, opencl, wgsl, ir'],
    [['kernel', 'show', 'frobnicate'], 'kernels: block'],
  ])('exit with 64: %j', async (args, message) => {
    const { status, stdout, stderr } = await millrace(...args);
    expect(status).toBe(64);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(message);
  });

  it('are reported as events with --json', async () => {
    const { status, stdout, stderr } = await millrace('frobnicate', '--json');
    expect(status).toBe(64);
    expect(stderr).toBe('');
    expect(events(stdout)).toMatchObject([
      { event: 'error', code: 'usage', message: "unknown command 'frobnicate'" },
      { event: 'done', exit: 64 },
    ]);
  });

  it('may come from the environment', async () => {
    const { status, stderr } = await run(['block', 'solve', 'a', 'b'], { MILLRACE_THREADS: 'many' });
    expect(status).toBe(64);
    expect(stderr).toContain('MILLRACE_THREADS');
  });
});

describe('devices', () => {
  it('lists the interpreter on every machine', async () => {
    const { status, stdout, stderr } = await millrace('devices');
    expect(status).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^interpreter /m);
  });
  it('prints one object as JSON, the done event', async () => {
    const [done, ...more] = events((await millrace('devices', '--json')).stdout);
    expect(more).toEqual([]);
    expect(done).toMatchObject({ event: 'done', exit: 0, absent: expect.any(Array) as unknown });
    expect(done?.devices).toContainEqual(expect.objectContaining({ id: 'interpreter', kind: 'interpreter' }));
  });
  it('says why native is absent without a compiler', async () => {
    const { stdout } = await run(['devices', '--json'], { PATH: folder, CC: '' });
    const [done] = events(stdout);
    expect(done?.absent).toContainEqual({ id: 'native', reason: expect.stringMatching(/compiler/) as unknown });
  });
});

describe('devices --watch', () => {
  /** Reads until the output matches `enough`, then presses Ctrl-C. */
  const watched = async (args: readonly string[], enough: RegExp) => {
    const child = spawn(process.execPath, [main, 'devices', '--watch', '1', ...args]);
    let text = '';
    let pressed = false; // a second time would abort
    child.stdout.on('data', (part) => {
      text += part;
      if (!pressed && enough.test(text)) pressed = child.kill('SIGINT');
    });
    const status = await new Promise((resolve) => child.on('close', resolve));
    return { status, text };
  };
  it('appends lines without a terminal, and ends normally on Ctrl-C', async ({ skip }) => {
    if (!hasCompiler) return skip('no C compiler');
    const { status, text } = await watched([], byTier(/native.*\n/, /(native[\s\S]*){2}/));
    expect(status).toBe(0);
    expect(text).toMatch(/^time +device +.*busy.*memory/);
    expect(text.match(/^time/gm)).toHaveLength(1);
    expect(text).toMatch(/^\d\d:\d\d:\d\d +native +\d.* %/m);
  });
  it('prints a JSON event for each reading, then done', async ({ skip }) => {
    if (!hasCompiler) return skip('no C compiler');
    if (isShort) return skip('covered without --json: npm run test:all');
    const { status, text } = await watched(['--json'], /"event":"sensors"/);
    expect(status).toBe(0);
    const all = events(text);
    expect(all).toContainEqual(
      expect.objectContaining({ event: 'sensors', device: 'native', memoryUsedBytes: expect.any(Number) as unknown }),
    );
    expect(all.at(-1)).toEqual({ event: 'done', exit: 0 });
  });
});

describe('doctor', () => {
  it('reports what works, and hides secrets and the home directory', async () => {
    const { status, stdout, stderr } = await run(['doctor'], { MILLRACE_POOL_PASSWORD: 'hunter2', HOME: folder });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    for (const title of ['system', 'devices', 'wasm', 'cache', 'environment']) expect(stdout).toContain(`\n${title}\n`);
    expect(stdout).toMatch(/^ {2}ok +wasm +.*works/m);
    expect(stdout).toMatch(/^\d+ devices? ready: /m);
    expect(stdout).not.toContain('hunter2');
    expect(stdout).not.toContain(`${folder}/.cache`);
  });
  it.skipIf(isShort)('prints a JSON event for each finding, then a verdict', async () => {
    const all = events((await millrace('doctor', '--json')).stdout);
    expect(all).toContainEqual(expect.objectContaining({ event: 'finding', section: 'system', what: 'Node.js' }));
    const done = all.at(-1);
    expect(done).toMatchObject({ event: 'done', exit: 0, working: expect.arrayContaining(['wasm']) as unknown });
  });
});

describe('kernel', () => {
  it('lists, prints and counts kernels', async () => {
    const list = await millrace('kernel', 'list');
    expect(list).toMatchObject({ status: 0, stderr: '' });
    expect(list.stdout).toMatch(/^block$/m);
    for (const target of ['c', 'wat', 'cuda', 'opencl', 'wgsl', 'ir']) {
      const once = await millrace('kernel', 'show', 'words', '--target', target);
      expect(once.status).toBe(0);
      expect(once.stdout.split('\n').length).toBeGreaterThan(90);
    }
    const [done] = events((await millrace('kernel', 'stats', 'words', '--json')).stdout);
    expect(done).toMatchObject({ event: 'done', exit: 0, kernel: 'words' });
  });
  it.skipIf(isShort)('counts the operations of every listed kernel', async () => {
    const { stdout } = await millrace('kernel', 'list');
    for (const name of stdout.trim().split('\n')) {
      const [done] = events((await millrace('kernel', 'stats', name, '--json')).stdout);
      expect(done, name).toMatchObject({ event: 'done', exit: 0, kernel: name });
    }
  });
  it.skipIf(isShort)('exits with 0 if the reader closes the pipe', async () => {
    const child = spawn(process.execPath, [main, 'kernel', 'show', 'block', '--target', 'c', '--lanes', '1']);
    child.stdout.destroy();
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect(status).toBe(0);
  });
});

describe('selftest', () => {
  it('writes diagnostics and says which device does not record driver calls', async () => {
    const log = join(folder, 'extra.log');
    const args = ['--device', 'interpreter', '--filter', 'atomics', '--api-table', '-e', log];
    const { status, stderr } = await millrace('selftest', ...args);
    expect(status).toBe(0);
    expect(stderr).toContain('interpreter does not record driver calls');
    // The command line and the warning: the interpreter has no diagnostics.
    expect(readFileSync(log, 'utf8')).toMatch(
      /^ *\d+\.\d{6} {2}millrace .*: selftest --device interpreter .*\n.* does not record driver calls\n$/,
    );
  });
  it('reports the first seed of random kernels and leaves no cache behind', async () => {
    const args = ['--device', 'interpreter', '--filter', 'atomics', '--fuzz', '1', '--seed', '77', '--json'];
    const { status, stdout } = await run(['selftest', ...args], { TMPDIR: folder });
    expect(status).toBe(0);
    const all = events(stdout);
    expect(all).toContainEqual({ event: 'fuzz', device: 'interpreter', seed: 77, seconds: 1 });
    expect(all).toContainEqual(expect.objectContaining({ event: 'case', name: 'seed 77 (tiles)', status: 'passed' }));
    expect(readdirSync(folder).filter((name) => name.startsWith('millrace-scratch'))).toEqual([]);
  });
  it('runs the requested cases', async () => {
    const { status, stdout } = await millrace('selftest', '--device', 'interpreter', '--filter', 'atomics', '--json');
    expect(status).toBe(0);
    const all = events(stdout);
    expect(all.filter(({ event }) => event === 'case').length).toBeGreaterThan(0);
    expect(all.at(-2)).toMatchObject({ event: 'summary', device: 'interpreter', failed: 0 });
    expect(all.at(-1)).toEqual({ event: 'done', exit: 0 });
  });
});

describe('block solve', () => {
  const genesis = join(data, 'mainnet/mainnet-0.in');
  const out = () => join(folder, 'x.out');

  it.each([
    ['a missing file', () => [join(folder, 'none.in'), out()], 74, 'there is no such file or folder'],
    ['a folder', () => [folder, out()], 74, 'it is a folder'],
    [
      'a malformed file',
      () => [join(data, 'mainnet/mainnet-0.out'), out()],
      74,
      'line 3: expected the previous hash of block 1 of 1',
    ],
    ['an output that cannot be written', () => [genesis, join(folder, 'none', 'x.out')], 74, 'cannot write'],
    ['one file for input and output', () => [copyOf(genesis), copyOf(genesis)], 64, 'the same file'],
    ['an unknown device', () => [genesis, out(), '--device', 'abacus'], 64, 'no device called "abacus"'],
  ])('rejects %s', async (_what, args, exit, message) => {
    const people = await millrace('block', 'solve', ...args());
    expect(people).toMatchObject({ status: exit, stdout: '' });
    expect(people.stderr).toContain(message);
    expect(people.stderr.trimEnd().split('\n')).toHaveLength(3);
    const programs = await millrace('block', 'solve', ...args(), '--json');
    expect(programs).toMatchObject({ status: exit, stderr: '' });
    const reported = events(programs.stdout);
    expect(reported.at(-2)).toMatchObject({ event: 'error', message: expect.stringContaining(message) as unknown });
    expect(reported.at(-1)).toEqual({ event: 'done', exit });
    expect(readdirSync(folder).filter((name) => name.includes('.tmp') || name === 'x.out')).toEqual([]);
  });

  it('exits with 69 if the device is absent', async () => {
    const { status, stderr } = await run(['block', 'solve', genesis, out(), '--device', 'native'], {
      PATH: folder,
      CC: '',
    });
    expect(status).toBe(69);
    expect(stderr).toContain('compiler');
  });

  function copyOf(path: string): string {
    writeFileSync(join(folder, 'same.in'), readFileSync(path));
    return join(folder, 'same.in');
  }
});

describe('block verify', () => {
  const pair = (name: string) => [join(data, `${name}.in`), join(data, `${name}.out`)];

  it('reports each correct block of a course file', async () => {
    const { status, stdout, stderr } = await millrace('block', 'verify', ...pair('course/case01'));
    expect({ status, stdout, stderr }).toEqual({
      status: 0,
      stdout: 'block 1: correct\nblock 2: correct\nblock 3: correct\nblock 4: correct\n',
      stderr: '',
    });
  });
  it('reports a wrong block and exits with 1', async () => {
    const [input = '', right = ''] = pair('course/case01');
    const wrong = join(folder, 'wrong.out');
    // The second nonce with its bytes reversed, the usual mistake.
    writeFileSync(wrong, readFileSync(right, 'latin1').replace('1dac2b7c', '7c2bac1d'));
    const { status, stdout } = await millrace('block', 'verify', input, wrong);
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^block 1: correct\nblock 2: wrong\n {2}hash {4}[0-9a-f]{64}\n {2}target {2}00000000ffff0{52}\n/,
    );
    const reported = events((await millrace('block', 'verify', input, wrong, '--json')).stdout);
    expect(reported.map(({ correct }) => correct)).toEqual([true, false, true, true, undefined]);
    expect(reported.at(-1)).toEqual({ event: 'done', exit: 1 });
  });
  it('compares the number of blocks first', async () => {
    const [input = ''] = pair('course/case01');
    const { status, stdout } = await millrace('block', 'verify', input, join(data, 'course/case00.out'));
    expect(status).toBe(1);
    expect(stdout).toContain('holds 4 blocks');
  });
});

const millrace = (...args: string[]) => run(args);
const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => command(args, { env });
