/** When work was sent and when it was seen to be done, on the host's clock. The device did it in between. */
export interface HostInterval {
  readonly sentNs: bigint;
  readonly doneNs: bigint;
}

/**
 * Converts device times to the host's monotonic clock. A device counts nanoseconds from an origin of its own, so one
 * offset converts between the clocks. The clocks drift, tens of microseconds a second at worst: a time before the work
 * was sent, or after it was seen to be done, corrects the offset.
 */
export class HostClock {
  /** Host minus device; undefined until the first times arrive. */
  #offsetNs: bigint | undefined;

  /** Converts device times to host times. */
  times(startedNs: bigint, endedNs: bigint, { sentNs, doneNs }: HostInterval): { startedNs: bigint; endedNs: bigint } {
    const latest = doneNs - endedNs;
    const earliest = sentNs - startedNs;
    // If both cannot hold, the device reports longer than the host saw: its clock runs a little fast.
    let ahead = this.#offsetNs ?? (earliest + latest) / 2n;
    if (ahead < earliest) ahead = earliest;
    if (ahead > latest) ahead = latest;
    this.#offsetNs = ahead;
    return { startedNs: startedNs + ahead, endedNs: endedNs + ahead };
  }
}
