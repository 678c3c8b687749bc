import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { root } from './scripts/prepare.mjs';
import { scratchHome } from './scripts/setup.mjs';
import { slowness } from './scripts/slowness.mjs';
import { softwareVulkan } from './scripts/vulkan.mjs';

/** `npm test` sets `short`, `npm run test:long` sets `long`; `npx vitest` runs everything but the big counts. */
const tier = process.env.MILLRACE_TIER ?? 'all';
/** How many times slower this machine is than an idle core of the class that time limits are written for. */
const slower = slowness();

/** The slowest files, which start first: started last, one would run alone while the other workers are idle. */
const slow = [
  'conformance playground uhash jobs fleet-faults block-devices gaps run jobs-commands words-cli encode-devices browser store-faults fleet-jobs readme',
  'network-stopping tune package cli gaps-cli uhash-cli device conventions terminal network-pool network-gaps-solo contract',
  'engine growth gaps-crt fuzz batches telemetry simulation network-gaps-pool hostile-text teardown block-files crash damage',
].flatMap((names) => names.split(' '));

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Files that need a process of their own come first: before one of them, vitest ends the process that others share,
    // which has loaded all modules and opened the devices.
    const rank = ({ moduleId, project }: TestSpecification): number => {
      if (project.name === 'alone') return -1;
      const at = slow.indexOf(basename(moduleId, '.test.ts'));
      return at < 0 ? slow.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/**
 * Files that share a process: a separate one costs two thirds of a second per file. Tests of commands restore what they
 * change. The others, judged by their text, change no state of the process.
 */
const commands = new RegExp(
  `^test/(${[
    'bench|browser|bundled|cache|cli|conformance|conventions|crash|dashboard|encode|examples|export|feeding|fleet|fuzz',
    'gaps|gpu-text|guide|jobs|kernels|lines|lint|lowered|native-bodies|package|playground|readme|regular|run|site|teardown',
    'telemetry|terminal|tune|uhash|words',
  ].join('|')})[./-]|^src/(cli|console|workload)/`,
);
const harmless = /^src\/(?!device\/gpu\/device)|^test\/(api|block|engine|licen|simulation|structure)/;
/** Judged by their text, these change state of the process; but each restores it, or changes it only in a child. */
const putBack = [
  /^src\/device\/(kinds|registry|cache\/cache|native\/compile|wasm\/node\/disk-modules|gpu\/resident\/resident)\.test/,
  /^src\/device\/gpu\/worker\/(loop|mark-poller|settle)\.test/,
  /^src\/(store\/thread\/(damage|exchange)|fleet\/(nats\/server|replica\/replica))\.test/,
  /^test\/(engine-(reader|slow)|hostile-text|mutated-|network-|signals|store-|structure|temporary)/,
  /^test\/(opencl|webgpu)\/(absence|slice|teardown)\.test/,
];
/** In a short run these only say that they are left out. */
const idle =
  tier === 'short'
    ? /^test\/(bundlers|dashboard-(job|workloads)|export-conformance|jobs-limits|type-errors)\.test/
    : undefined;
const light = [...namesIn('src'), ...namesIn('test')].filter(
  (name) =>
    idle?.test(name) ||
    (commands.test(name) && !/telemetry-/.test(name) && !hasFakeDriver(name)) ||
    putBack.some((names) => names.test(name)) ||
    (harmless.test(name) && leavesNothing(name)),
);

/** A fake driver stays in the environment of its process. */
function hasFakeDriver(name: string): boolean {
  return /cuda\/fake\.js/.test(readFileSync(name, 'utf8'));
}

function leavesNothing(name: string): boolean {
  return !/process\.(env|chdir|on|exit|emit|kill|cwd|stdout|stderr)|\bvi\.|command-line|new Worker|gpu-core|spawn\(/.test(
    readFileSync(name, 'utf8'),
  );
}

function namesIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.filter((name) => name.endsWith('.test.ts')).map((name) => `${folder}/${name}`);
}

/**
 * Resolves imports of src to dist: code loaded by Node is three times as fast as source loaded by vite, where each use of an
 * import is a lookup. `npm run watch` uses src, so that vite knows which tests depend on a file.
 */
function builtFile(source: string, importer: string | undefined): { id: string; external: true } | null {
  if (!source.startsWith('.') || importer === undefined) return null;
  const path = relative(join(root, 'src'), join(dirname(importer), source));
  const file = join(root, 'dist', path);
  return path.startsWith('..') || !existsSync(file) ? null : { id: file, external: true };
}

export default defineConfig({
  plugins: process.env.MILLRACE_FROM_SOURCE ? [] : [{ name: 'built', enforce: 'pre', resolveId: builtFile }],
  test: {
    environment: 'node',
    // Tests neither use nor change the user's settings and jobs.
    env: {
      ...softwareVulkan(),
      XDG_CONFIG_HOME: scratchHome,
      XDG_DATA_HOME: scratchHome,
      // Shared by all files of a run, so that each program is compiled once.
      MILLRACE_CACHE_DIR: join(scratchHome, 'cache'),
      POCL_CACHE_DIR: join(scratchHome, 'pocl'),
      MILLRACE_TEST_SLOWNESS: String(slower),
      // Some tests read this name instead of the tier.
      ...(tier === 'long' && { MILLRACE_LONG: '1' }),
    },
    projects: [
      { extends: true, test: { name: 'light', include: light, isolate: false } },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: light,
        },
      },
    ],
    expect: { poll: { timeout: 30_000 * slower, interval: 10 } },
    globalSetup: ['scripts/setup.mjs'],
    setupFiles: ['scripts/seed.mjs', ...(process.env.NODE_V8_COVERAGE ? ['scripts/take-coverage.mjs'] : [])],
    // The built command, which tests run in their own process, is loaded by Node, not transformed by vite.
    server: { deps: { external: [/\/dist\//] } },
    // Native code can crash its process: in a fork one file fails, in a thread the whole run would end.
    pool: 'forks',
    // Less work for V8, which else takes a quarter of the run: it optimizes a function later, as few run long enough to gain
    // what that costs, collects garbage less often, and keeps code that no test has called for a while.
    execArgv: [
      // Later versions of Node have no such option.
      ...(process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []),
      '--min-semi-space-size=16',
      '--max-semi-space-size=64',
      '--initial-old-space-size=512',
      '--no-flush-bytecode',
    ],
    sequence: { sequencer: LongestFirst },
    // As many as cores: with three workers on two cores the run took as long, and each test was slower.
    maxWorkers: 2,
    testTimeout: (tier === 'long' ? 60 * 60_000 : 120_000) * slower,
    hookTimeout: (tier === 'long' ? 10 * 60_000 : 120_000) * slower,
  },
});
