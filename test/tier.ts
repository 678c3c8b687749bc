/** How much a run of the tests does: `npm test` is `short`, `npm run test:all` is `all`, `npm run test:long` is `long`. */
const tier = process.env.MILLRACE_TIER ?? 'all';

/** Big counts: hours. */
export const isLong = tier === 'long' || process.env.MILLRACE_LONG === '1';
/** One test of each feature on each kind of device. */
export const isShort = tier === 'short' && !isLong;

/** What a short run does, what one of everything does, and what a long one does, which is as much unless told. */
export const byTier = <T>(short: T, all: T, long: T = all): T => (isLong ? long : isShort ? short : all);

/** Milliseconds on an idle core of the class that limits are written for, as many as this machine needs. */
export const patience = (ms: number): number => ms * Number(process.env.MILLRACE_TEST_SLOWNESS ?? 1);
