import { defineConfig } from 'vitest/config';
import { softwareVulkan } from './scripts/vulkan.mjs';

const long = process.env.MILLRACE_LONG === '1';

export default defineConfig({
  test: {
    environment: 'node',
    env: softwareVulkan(),
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
    maxWorkers: 2,
    // Far above what anything takes on an idle machine: a busy one must not fail a test.
    testTimeout: long ? 60 * 60_000 : 180_000,
    hookTimeout: long ? 10 * 60_000 : 180_000,
  },
});
