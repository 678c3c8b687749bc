// A vitest reporter that counts results for the last lines of `npm test`. It writes JSON to the file that `COUNTS_FILE`
// names, because vitest prints after its reporters and the counts must be the last thing on the screen.

import { writeFileSync } from 'node:fs';

/** The variable with the path for the counts, set by scripts/test.mjs. */
export const COUNTS_FILE = 'MILLRACE_TEST_COUNTS';

/** The reason of `test.skipIf(isShort)`, which has none. */
const NO_NOTE =
  process.env.MILLRACE_TIER === 'short' ? 'more cases of tested features: npm run test:all' : 'no reason given';

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
  // An error outside any test, in a worker or in a hook, counts as a failure.
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
