// A vitest reporter that counts, for the last lines of `npm test`. It writes JSON to the file that the environment
// names, because vitest prints after its reporters are done and the counts are to be the last thing on the screen.

import { writeFileSync } from 'node:fs';

/** Where the counts go: the variable is set by scripts/test.mjs. */
export const COUNTS_FILE = 'MILLRACE_TEST_COUNTS';

/** `test.skipIf(isShort)` gives no reason of its own. */
const NO_NOTE =
  process.env.MILLRACE_TIER === 'short' ? 'more of what others test: npm run test:all' : 'no reason given';

/** @typedef {{ passed: number, failed: number, skipped: number, reasons: Record<string, number> }} Counts */

export default class CountingReporter {
  /**
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const file = process.env[COUNTS_FILE];
    if (file) writeFileSync(file, JSON.stringify(count(modules, unhandledErrors.length)));
  }
}

/**
 * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
 * @param {number} unhandledErrors
 * @returns {Counts}
 */
function count(modules, unhandledErrors) {
  // An error outside any test, in a worker or in a hook, is a failure like any other: it must not hide behind passes.
  const counts = {
    passed: 0,
    failed: unhandledErrors,
    skipped: 0,
    reasons: /** @type {Record<string, number>} */ ({}),
  };
  for (const module of modules) {
    if (module.errors().length > 0) counts.failed += 1;
    for (const suite of module.children.allSuites()) if (suite.errors().length > 0) counts.failed += 1;
    for (const test of module.children.allTests()) {
      const result = test.result();
      if (result.state === 'passed') {
        counts.passed += 1;
      } else if (result.state === 'skipped') {
        const reason = result.note ?? (test.options.mode === 'todo' ? 'to do' : NO_NOTE);
        counts.skipped += 1;
        counts.reasons[reason] = (counts.reasons[reason] ?? 0) + 1;
      } else counts.failed += 1;
    }
  }
  return counts;
}
