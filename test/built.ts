/**
 * A module as the build has made it. The source as vite loads it takes three times as long to compute, since each use of
 * an import looks it up; so tests that compute for seconds take the built one.
 */
export const built = async <T>(path: string): Promise<T> =>
  (await import(new URL(`../dist/${path}`, import.meta.url).href)) as T;
