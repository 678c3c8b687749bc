import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { millrace } from '../command-line.js';
import { by, type Examples, says, wasm } from './example.js';
import { blocks } from './workloads.js';

const conventions = (...code: readonly string[]) => by('test/conventions.test.ts', ...code);
const completed = conventions("millrace(['completion', shell])", "it.for(['bash', 'zsh', 'fish'])");
const tuned = (...code: readonly string[]) => by('test/tune.test.ts', TUNE, ...code);
/** The function with which that test runs the command. */
const TUNE = `const given = [
    'tune',
    'words',
    '--device',`;

const REPORT = fileURLToPath(new URL('../../docs/measurements/reports/h200-cuda.json', import.meta.url));

/** Of docs/fleet.md. */
const onFleet = (...code: readonly string[]) => by('test/fleet/fleet.ts', ...code);
const submitted = (...code: readonly string[]) => by('test/fleet-jobs.test.ts', ...code);
const inBrowser = (...code: readonly string[]) => by('test/fleet-browser.test.ts', ...code);
const viewed = (...code: readonly string[]) => by('test/fleet.test.ts', ...code);

/** Commands of docs/command.md, docs/export.md, docs/fleet.md, docs/tuning.md and docs/telemetry.md that the READMEs do not have. */
export const documents: Examples = {
  'millrace COMMAND --help': conventions("millrace(['devices', '--help'], { env })"),
  'millrace --version': by('test/cli.test.ts', "it.each(['--version', '-V'])"),
  'millrace schema events': conventions("millrace(['schema', 'events'])"),
  'millrace completion bash': completed,
  'millrace completion zsh': completed,
  'millrace completion fish': completed,
  'millrace run kernel.ts --json | jq -c \'select(.event == "hit") | .index\'': by(
    'test/run.test.ts',
    "'--space', '3e3', '--param', 'bits=6', ...feeding, '--json']",
    "millrace('run', 'kernel.mjs', ...args)",
  ),
  'millrace run kernel.ts --space 2^40 --dashboard': by(
    'test/dashboard.test.ts',
    "commands.start('run', 'zeros.mjs', '--space', '2^29', ...devices, '--dashboard')",
  ),
  'millrace dashboard': by('test/dashboard.test.ts', "commands.start('dashboard')"),
  'millrace fleet serve': onFleet("this.start('fleet', 'serve')"),
  'millrace fleet join': onFleet("this.start('fleet', 'join', '--device', 'wasm', '--threads', '1', '--name', name)"),
  'millrace fleet join --name attic': onFleet("'fleet', 'join', '--device', 'wasm', '--threads', '1', '--name', name"),
  'millrace fleet join attic.invite': viewed("its.start('fleet', 'join', file, '--device', 'wasm'"),
  'millrace fleet join FILE': viewed("its.start('fleet', 'join', file, '--device', 'wasm'"),
  'millrace run kernel.ts --space 2^32 --fleet': onFleet(
    "this.start('run', 'kernel.mjs', ...given)",
    "['--space', String(space), '--param',",
    "'--fleet', ...more]",
  ),
  'millrace run FILE --fleet': onFleet("this.start('run', 'kernel.mjs', ...given)", "'--fleet', ...more"),
  'millrace gaps search --start 2^280 --length 2^30 --min-merit 15 --fleet': viewed(
    "['gaps', 'search', '--start', '2^100', '--length', '2^17', '--min-merit', '4']",
    "fleet.start(...job, '--fleet')",
  ),
  'millrace block solve IN OUT --fleet': submitted("onFleet('block', 'solve', data(", "millrace([...args, '--fleet']"),
  'millrace uhash prove --challenge 00ff --difficulty 20 --fleet': submitted(
    "onFleet('uhash', 'prove', '--challenge', challenge, '--difficulty', '3'",
    "millrace([...args, '--fleet']",
  ),
  'millrace fleet invite': viewed("millrace(['fleet', 'invite', '--role', 'submitter', '--expires', '1d'], { env })"),
  'millrace fleet invite --name attic --out attic.invite': viewed(
    "millrace(['fleet', 'invite', '--name', 'barn', '--out', file], { env })",
  ),
  'millrace fleet invite --role submitter --expires 1d': viewed(
    "millrace(['fleet', 'invite', '--role', 'submitter', '--expires', '1d'], { env })",
  ),
  'millrace fleet serve --listen 0.0.0.0:4222 --advertise fleet.example': viewed(
    "fleet.start('fleet', 'serve', '--listen', '127.0.0.1:0', '--advertise', 'localhost')",
  ),
  'millrace fleet backup spare': by(
    'test/fleet-failover.test.ts',
    "spare = join(fleet.folder, 'spare')",
    "fleet.start('fleet', 'backup', spare)",
  ),
  'millrace fleet backup FOLDER': by('test/fleet-failover.test.ts', "fleet.start('fleet', 'backup', spare)"),
  'millrace fleet serve --data-dir FOLDER': by(
    'test/fleet-failover.test.ts',
    "fleet.start('fleet', 'serve', '--nats', server.url, '--data-dir', spare)",
  ),
  'millrace fleet serve --standby --nats tls://nats.example:4222 --data-dir spare': by(
    'test/fleet-failover.test.ts',
    "fleet.start('fleet', 'serve', '--standby', '--nats', server.url, '--data-dir', spare)",
  ),
  'millrace fleet config > accounts.conf': viewed("millrace(['fleet', 'config'], { env })"),
  'millrace fleet serve --nats tls://nats.example:4222': viewed("fleet.start('fleet', 'serve', '--nats', own.url)"),
  'millrace fleet invite --trusted': viewed("millrace(['fleet', 'invite', '--trusted', '--out', files[0]!], { env })"),
  'millrace fleet revoke NAME': viewed("millrace(['fleet', 'revoke', 'barn'], { env })"),
  'millrace fleet jobs ID --recheck NAME': by(
    'test/fleet-revocation.test.ts',
    "millrace(['fleet', 'jobs', id.slice(0, 12), '--recheck', most.user], { env: fleet.env })",
  ),
  'millrace fleet serve --dashboard': by('test/fleet-page.test.ts', "commands.start('fleet', 'serve', '--dashboard')"),
  'millrace dashboard --fleet viewer.invite': by(
    'test/fleet-page.test.ts',
    "elsewhere.start('dashboard', '--fleet', join(commands.folder, 'viewer.invite'))",
  ),
  'millrace fleet serve --prometheus 9464': by(
    'test/fleet-operations.test.ts',
    "commands.startUnwatched('fleet', 'serve', '--prometheus', '0')",
  ),
  'node scripts/dashboard-cost.mjs': {
    long: { more: ['--hits', '1000', '--seconds', '1'], check: says(/server/) },
  },
  'node scripts/dashboard-cost.mjs --load': { long: { check: says(/one paragraph: median/) } },
  'millrace fleet serve --browsers': inBrowser("fleet.start('fleet', 'serve', '--browsers', '--about', 'A test')"),
  'millrace fleet serve --browsers --about "Prime gaps for the reading room"': inBrowser(
    "fleet.start('fleet', 'serve', '--browsers', '--about', 'A test')",
  ),
  'millrace fleet invite --browser': inBrowser("fleet.start('fleet', 'invite', '--browser', '--name', 'anna'"),
  'millrace fleet invite --browser --name anna': inBrowser(
    "fleet.start('fleet', 'invite', '--browser', '--name', 'anna'",
  ),
  'node scripts/fleet-browser-rate.mjs': { long: { more: ['5'], check: says(/^page, wasm: .* [\d,]+\/s$/m) } },
  'node scripts/fleet-failover.mjs': {
    long: { more: ['1'], check: says(/^after a kill: the standby leads [\d.]+ s/m) },
  },
  'node scripts/fleet-page-cost.mjs': {
    long: { more: ['100'], check: says(/^ {2}a page on a quiet fleet: [\d.]+ ms\/s/m) },
  },
  'millrace fleet status': viewed("millrace(['fleet', 'status'], { env })"),
  'millrace fleet drain attic': viewed("millrace(['fleet', 'drain', 'attic'], { env })"),
  'millrace fleet drain NAME': viewed("millrace(['fleet', 'drain', 'attic'], { env })"),
  'node scripts/fleet-load.mjs CONNECTIONS': {
    long: { swap: { CONNECTIONS: '100' }, more: ['5'], check: says(/^ {2}cancel reached 100 workers/m) },
  },
  'node scripts/fleet-cost.mjs': { all: { more: ['100'], check: says(/^100 workers: µs beat \d/m) } },
  'millrace kernel list': by('test/cli.test.ts', "millrace('kernel', 'list')"),
  'millrace devices --json': by('test/cli.test.ts', "millrace('devices', '--json')"),

  'millrace export block --out miner': {
    all: {
      check: (_, folder) => expect(readFileSync(join(folder, 'miner', 'Makefile'), 'utf8')).toContain('libblock.so'),
    },
  },
  'millrace export words --out DIR': {
    all: {
      swap: { DIR: 'words' },
      check: (_, folder) =>
        expect(readFileSync(join(folder, 'words', 'wordlist_generator.h'), 'utf8')).toContain('wg_create'),
    },
  },
  'millrace words --emit-c DIR': by(
    'test/words-cli.test.ts',
    "words('--emit-c', join(folder, 'c'))",
    "millrace(['words', ...args]",
  ),
  'millrace export encode --language python --out encoder': {
    all: {
      check: (_, folder) =>
        expect(readFileSync(join(folder, 'encoder', 'encode', 'engine.py'), 'utf8')).toContain('class QdpEngine'),
    },
  },
  'millrace export kernel.ts --language python --out search': by(
    'test/export-python.test.ts',
    "['export', file, '--language', 'python', '--out', out, '--targets', 'cpu']",
  ),
  'millrace export kernel.ts --out search --targets cpu,cuda': {
    all: {
      given: async (folder) => {
        expect((await millrace(['init', 'kernel.ts'], { cwd: folder })).status).toBe(0);
      },
      check: (_, folder) =>
        expect(readFileSync(join(folder, 'search', 'zeros_cuda.c'), 'utf8')).toContain('__global__'),
    },
  },

  'millrace tune': tuned('const first = await tune();'),
  'millrace tune words --device cuda,cpu': tuned('const first = await tune();'),
  'millrace tune --show': tuned("const shown = await tune('--show');"),
  'millrace tune words --retune': tuned("(await tune('--retune')).events"),
  'millrace tune --reset': tuned("expect((await tune('--reset')).status).toBe(0);"),

  'millrace block solve blocks.in nonces.out --trace trace.json': by(
    'test/telemetry.test.ts',
    "['block', 'solve', input, 'nonces.out', '--device', 'native,wasm'",
    "['--metrics', 'm.csv', '--trace', 't.json',",
    'millrace([...args, ...views], { cwd: folder })',
  ),
  'node scripts/plot.mjs cuda.json cuda.svg': {
    long: {
      served: async (folder) => ({ 'cuda.json': REPORT, 'cuda.svg': join(folder, 'cuda.svg') }),
      check: (_, folder) => expect(readFileSync(join(folder, 'cuda.svg'), 'utf8')).toMatch(/^<svg /),
    },
  },
  'node scripts/timeline.mjs trace.json timeline.svg': {
    long: {
      served: async (folder) => {
        blocks(folder);
        const args = ['block', 'solve', 'blocks.in', 'nonces.out', '--trace', 'trace.json', ...wasm];
        expect((await millrace(args, { cwd: folder })).status).toBe(0);
        return { 'trace.json': join(folder, 'trace.json'), 'timeline.svg': join(folder, 'timeline.svg') };
      },
      check: (_, folder) => expect(readFileSync(join(folder, 'timeline.svg'), 'utf8')).toMatch(/^<svg /),
    },
  },
  'millrace run kernel.ts --prometheus 9464': by(
    'test/telemetry.test.ts',
    `const args = [
      'run',
      'job.mjs',`,
    `'--prometheus',
      ':0',`,
  ),
  'node scripts/telemetry-cost.mjs --device D': {
    long: {
      swap: { D: 'wasm' },
      more: ['--rounds', '1', '--seconds', '1'],
      check: says(/^median: -?\d+\.\d\d % \(all views on, against none\)$/m),
    },
  },
};
