import { configureGlobal } from 'fast-check';

/**
 * Random tests draw the same cases in each run of `npm test` and `npm run test:all`: a commit that has passed passes again,
 * and what fails, fails again. `npm run test:long` draws new ones; MILLRACE_SEED=N names others. A failure prints its seed.
 */
const { MILLRACE_SEED, MILLRACE_TIER } = process.env;
/** Cases of a property that gives no number itself. */
const numRuns = MILLRACE_TIER === 'short' ? 25 : 100;
if (MILLRACE_SEED) configureGlobal({ numRuns, seed: Number(MILLRACE_SEED) });
else if (MILLRACE_TIER === 'long') configureGlobal({ numRuns });
else configureGlobal({ numRuns, seed: 20_261_118 });
