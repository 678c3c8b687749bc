/** When work was sent and when it was seen to be done, on the host's clock: the device did it in between. */
export interface Seen {
  readonly sentNs: bigint;
  readonly doneNs: bigint;
}

/**
 * Converts times of a device to the host's monotonic clock. A device counts nanoseconds from a moment of its own, so one
 * number leads from one clock to the other. The clocks drift, tens of microseconds a second at worst: a time before the
 * work was sent, or after it was seen to be done, moves the number.
 */
export class HostClock {
  /** Host less device; unknown until the first times come. */
  #ahead: bigint | undefined;

  /** Times of the device as times of the host. */
  times(startedNs: bigint, endedNs: bigint, { sentNs, doneNs }: Seen): { startedNs: bigint; endedNs: bigint } {
    const latest = doneNs - endedNs;
    const earliest = sentNs - startedNs;
    // Where both cannot hold, the device took longer than the host saw: its clock runs a little fast.
    let ahead = this.#ahead ?? (earliest + latest) / 2n;
    if (ahead < earliest) ahead = earliest;
    if (ahead > latest) ahead = latest;
    this.#ahead = ahead;
    return { startedNs: startedNs + ahead, endedNs: endedNs + ahead };
  }
}
