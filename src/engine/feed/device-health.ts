import type { DeviceInfo } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import { blame, faultOf, HEALTHY, type Health, praise, type Trouble } from './fault-rate.js';

/** Counts a device's work and faults over all jobs, and decides whether the device is still used. */
export class Conduct {
  readonly counts = { chunks: 0, items: 0n, canaries: 0, cancelled: 0, wrong: 0, missed: 0, failed: 0, stalled: 0 };
  /** Why the device is no longer used. */
  fault: MillraceError | undefined;
  #health: Health = HEALTHY;
  readonly #info: DeviceInfo;
  readonly #onFault: (fault: MillraceError) => void;

  constructor(info: DeviceInfo, onFault: (fault: MillraceError) => void) {
    this.#info = info;
    this.#onFault = onFault;
  }

  /** Records that `checked` results were recomputed and right. */
  praise(checked: number): void {
    this.#health = praise(this.#health, checked);
  }

  /** Records a fault. Past a limit the device is no longer used. */
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

  /**
   * Records an error from the device. A few consecutive errors are tolerated, unless the device is closed or failed.
   */
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

/** True if the device caused the error. Any other error belongs to the job and would occur on every device. */
export const isOfDevice = (error: unknown): boolean =>
  error instanceof MillraceError && error.code.startsWith('device-');

/** Releases a resource and ignores errors: a device that is gone refuses every call and has nothing left to free. */
export function attempt(action: () => void): void {
  try {
    action();
  } catch {
    // the loss of the device is already recorded
  }
}
