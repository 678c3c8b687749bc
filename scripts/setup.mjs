// Before vitest's first test: tests run from src, but worker threads they start are loaded from dist, which therefore
// has to match. `npm test` has built already; this is for `npx vitest`.

import { ensureBuilt, PrepareError } from './prepare.mjs';
import { COUNTS_FILE } from './reporter.mjs';

export default function setup() {
  if (process.env[COUNTS_FILE]) return;
  try {
    ensureBuilt();
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    process.stderr.write(`millrace: ${error.message}, so dist is missing or old; npm run check shows the errors\n`);
  }
}
