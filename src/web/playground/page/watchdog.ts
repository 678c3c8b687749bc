/** The work did not end in time. */
export class LateError extends Error {
  constructor(limitMs: number, what: string) {
    super(`${what} took more than ${limitMs / 1000} s and was ended`);
    this.name = 'LateError';
  }
}

/**
 * Waits for work that may never end. After the limit `end` is called, which must end it whatever state it is in, and the
 * promise rejects. Work that is ended for another reason may resolve late: nothing happens then.
 */
export function withWatchdog<T>(work: Promise<T>, limitMs: number, what: string, end: () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      end();
      reject(new LateError(limitMs, what));
    }, limitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
