/** Awaits a promise. If that takes longer than `milliseconds`, calls `late`, which returns a value instead or throws. */
export async function withTimeout<T>(promise: Promise<T>, milliseconds: number, late: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  }).then(late);
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for `work` until the signal aborts, and then rejects with its reason. `late` gets a result that comes afterwards. */
export function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  late?: (result: T) => unknown,
): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason);
      work.then(late, () => undefined); // its caller no longer waits
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
