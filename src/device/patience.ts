/** Awaits a promise. If that takes longer than `milliseconds`, calls `late`, which returns a value instead or throws. */
export async function inTime<T>(promise: Promise<T>, milliseconds: number, late: () => T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  }).then(late);
  try {
    return await Promise.race([promise, patience]);
  } finally {
    clearTimeout(timer);
  }
}
