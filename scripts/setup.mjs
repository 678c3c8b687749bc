// Runs before vitest's first test. Tests run dist, which must match src. `npm test` has built already; this is for
// `npx vitest`.

import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt, PrepareError } from './prepare.mjs';
import { COUNTS_FILE } from './reporter.mjs';

/** The folder of settings and jobs for tests, removed after the last test. */
export const scratchHome = join(tmpdir(), `millrace-home-${process.pid}`);

export default function setup() {
  mkdirSync(scratchHome, { mode: 0o700, recursive: true });
  if (!process.env[COUNTS_FILE] && !process.env.MILLRACE_KEEP_DIST) build();
  return () => rmSync(scratchHome, { recursive: true, force: true });
}

function build() {
  try {
    ensureBuilt();
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    process.stderr.write(
      `millrace: ${error.message}: dist is missing or out of date; npm run check shows the errors\n`,
    );
  }
}
