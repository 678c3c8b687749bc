/** Reasons for pausing devices. A device resumes when its last reason is removed. */
export class PauseReasons {
  readonly #reasons = new Map<string, Set<PauseReason>>();
  readonly #controls: Partial<PauseControls>;

  constructor(controls: Partial<PauseControls>) {
    this.#controls = controls;
  }

  /** Returns true if the reason changed. */
  set(device: string, reason: PauseReason, isSet: boolean): boolean {
    const reasons = this.#reasons.get(device) ?? new Set();
    this.#reasons.set(device, reasons);
    if (reasons.has(reason) === isSet) return false;
    const before = reasons.size;
    if (isSet) reasons.add(reason);
    else reasons.delete(reason);
    if (before === 0) this.#controls.pause?.(device);
    else if (reasons.size === 0) this.#controls.resume?.(device);
    return true;
  }

  /** Removes all reasons and resumes all devices. */
  release(): void {
    for (const [device, reasons] of this.#reasons) if (reasons.size > 0) this.#controls.resume?.(device);
    this.#reasons.clear();
  }

  /** Returns a reason to display. `cpu` is omitted: a share of the processors is enforced by many short pauses. */
  reasonOf(device: string): PauseReason | undefined {
    return [...(this.#reasons.get(device) ?? [])].find((reason) => reason !== 'cpu');
  }
}

export type PauseReason = 'paused' | 'outranked' | 'too hot' | 'too much power' | 'cpu';

export interface PauseControls {
  /** Starts no more chunks on a device, or on all devices. */
  pause(device?: string): void;
  resume(device?: string): void;
}
