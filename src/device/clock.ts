/**
 * Nanoseconds on the one clock of all devices: Node's where there is one; else the page's, the same in all of its
 * threads.
 */
export function clockNs(): bigint {
  const clock = (globalThis as { process?: { hrtime?: { bigint?: () => bigint } } }).process?.hrtime?.bigint;
  return clock ? clock() : BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));
}
