import type { DeviceInfo } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import { blame, faultOf, HEALTHY, type Health, praise, type Trouble } from './fault-rate.js';

/** What a device has done, well and badly, over all jobs; and whether it may go on. */
export class Conduct {
  readonly counts = { chunks: 0, items: 0n, canaries: 0, cancelled: 0, wrong: 0, missed: 0, failed: 0, stalled: 0 };
  /** Why it is not used any longer. */
  fault: MillraceError | undefined;
  #health: Health = HEALTHY;
  readonly #info: DeviceInfo;
  readonly #onFault: (fault: MillraceError) => void;

  constructor(info: DeviceInfo, onFault: (fault: MillraceError) => void) {
    this.#info = info;
    this.#onFault = onFault;
  }

  /** So many of its results were recomputed and right. */
  praise(checked: number): void {
    this.#health = praise(this.#health, checked);
  }

  /** Past a limit it is not used any longer. */
  blame(trouble: Trouble, message: string): void {
    this.counts[trouble]++;
    this.#health = blame(this.#health, trouble);
    if (faultOf(this.#health) === undefined) return;
    const { id, name } = this.#info;
    this.#end(
      new MillraceError({
        code: 'device-failed',
        message,
        asked: `work on ${id} (${name})`,
        advice: `run \`millrace selftest --device ${id}\`; do not use this device until it passes`,
      }),
    );
  }

  /** An error of the device's: a few in a row may be overcome, but not those after which there is no device. */
  fail(error: unknown): void {
    const isGone = error instanceof MillraceError && (error.code === 'device-closed' || error.code === 'device-failed');
    if (!isGone) {
      this.blame('failed', error instanceof Error ? error.message : String(error));
      return;
    }
    this.counts.failed++;
    this.#end(error);
  }

  #end(fault: MillraceError): void {
    if (this.fault) return;
    this.fault = fault;
    this.#onFault(fault);
  }
}

/** Errors that say something of the device; all others are the job's, and any device would say the same. */
export const isOfDevice = (error: unknown): boolean =>
  error instanceof MillraceError && error.code.startsWith('device-');

/** Gives something back to a device that may be gone: then it refuses everything, and there is nothing to give back. */
export function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // that it is gone is known
  }
}
