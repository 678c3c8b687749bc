/** What holds devices back, each for its own reasons: a device goes on when the last of them is gone. */
export class Holds {
  readonly #reasons = new Map<string, Set<Reason>>();
  readonly #controls: HoldControls;

  constructor(controls: HoldControls) {
    this.#controls = controls;
  }

  /** True when that is new. */
  set(device: string, reason: Reason, isHeld: boolean): boolean {
    const reasons = this.#reasons.get(device) ?? new Set();
    this.#reasons.set(device, reasons);
    if (reasons.has(reason) === isHeld) return false;
    const before = reasons.size;
    if (isHeld) reasons.add(reason);
    else reasons.delete(reason);
    if (before === 0) this.#controls.pause(device);
    else if (reasons.size === 0) this.#controls.resume(device);
    return true;
  }

  /** Whoever had a reason is gone: all devices go on. */
  release(): void {
    for (const [device, reasons] of this.#reasons) if (reasons.size > 0) this.#controls.resume(device);
    this.#reasons.clear();
  }

  /** For people. A share of the processors is kept by many short pauses, which are not worth a word. */
  reasonOf(device: string): Reason | undefined {
    return [...(this.#reasons.get(device) ?? [])].find((reason) => reason !== 'cpu');
  }
}

export type Reason = 'paused' | 'outranked' | 'too hot' | 'too much power' | 'cpu';

export interface HoldControls {
  /** Starts no more chunks on a device, or on all. */
  pause(device?: string): void;
  resume(device?: string): void;
}
