import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { scratchHome } from './scripts/setup.mjs';
import { softwareVulkan } from './scripts/vulkan.mjs';

const long = process.env.MILLRACE_LONG === '1';

/** What takes longest comes first: begun last, it would run alone while the other worker has nothing to do. */
const slow = [
  ...['conformance', 'block-files', 'block-devices', 'jobs', 'browser', 'gpu-text', 'uhash', 'run', 'words-cli', 'cli'],
  ...['crash', 'conventions', 'terminal', 'store-faults', 'fuzz', 'gaps', 'encode-devices', 'teardown', 'uhash-cli'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = slow.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return at < 0 ? slow.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    environment: 'node',
    // What a person has set or kept at home is not a test's to use, or to change.
    env: { ...softwareVulkan(), XDG_CONFIG_HOME: scratchHome, XDG_DATA_HOME: scratchHome },
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    typecheck: {
      enabled: true,
      include: ['src/**/*.test-d.ts'],
      // Errors outside the type tests are the type check's to report, which `npm test` runs before.
      ignoreSourceErrors: true,
    },
    globalSetup: ['scripts/setup.mjs'],
    // Native code can end its process; in a fork that fails one file, in a thread it would end the whole run.
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    maxWorkers: 2,
    // Real processes, terminals and drivers on a busy machine: the last lines name what passed only then, to be mended.
    retry: 1,
    // Far above what anything takes on an idle machine: a busy one must not fail a test.
    testTimeout: long ? 60 * 60_000 : 180_000,
    hookTimeout: long ? 10 * 60_000 : 180_000,
  },
});
