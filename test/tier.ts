/** How much a run of the tests does: `npm test` is `short`, `npm run test:all` is `all`, `npm run test:long` is `long`. */
const tier = process.env.MILLRACE_TIER ?? 'all';

/** Large counts, which take hours. */
export const isLong = tier === 'long' || process.env.MILLRACE_LONG === '1';
/** One test of each feature on each kind of device. */
export const isShort = tier === 'short' && !isLong;

/** Chooses a value by tier; `long` defaults to `all`. */
export const byTier = <T>(short: T, all: T, long: T = all): T => (isLong ? long : isShort ? short : all);

/** Scales a time limit, given for an idle core of the reference class, to this machine. */
export const patience = (ms: number): number => ms * Number(process.env.MILLRACE_TEST_SLOWNESS ?? 1);
