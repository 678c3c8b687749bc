/**
 * Tracks of a trace. Slices of one track may nest but not cross, so slices that may overlap (checks of several chunks,
 * ranges of a resident grid) are spread over as many tracks as needed.
 */
export class TraceTracks {
  readonly #pid: number;
  readonly #firstTid: number;
  readonly #ends: bigint[] = [];
  readonly #name: string;

  /** Tracks of one name, numbered from `firstTid` on. */
  constructor(pid: number, firstTid: number, name: string) {
    this.#pid = pid;
    this.#firstTid = firstTid;
    this.#name = name;
  }

  /** Returns a track that is free from `startedNs` on. Slices must come in the order of their starts. */
  take(startedNs: bigint, endedNs: bigint): TraceTrack {
    const free = this.#ends.findIndex((end) => end <= startedNs);
    const at = free < 0 ? this.#ends.length : free;
    this.#ends[at] = endedNs;
    return { pid: this.#pid, tid: this.#firstTid + at };
  }

  /** Yields each used track with its name. */
  *names(): Generator<TraceTrack & { readonly name: string }> {
    for (const at of this.#ends.keys()) {
      const name = at === 0 ? this.#name : `${this.#name} (${at + 1})`;
      yield { pid: this.#pid, tid: this.#firstTid + at, name };
    }
  }
}

export interface TraceTrack {
  readonly pid: number;
  readonly tid: number;
}
