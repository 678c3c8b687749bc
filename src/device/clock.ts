/**
 * Returns nanoseconds on the clock that all devices share: Node's if there is one, else the page's, which is the same
 * in all of its threads.
 */
export function clockNs(): bigint {
  const clock = (globalThis as { process?: { hrtime?: { bigint?: () => bigint } } }).process?.hrtime?.bigint;
  return clock ? clock() : BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));
}
