import type { DeviceInfo } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import { type FaultCounts, type FaultKind, faultOf, NO_FAULTS, recordFault, recordOk } from './fault-rate.js';

/** Counts a device's work and faults over all jobs, and decides whether the device is still used. */
export class DeviceHealth {
  readonly counts = { chunks: 0, items: 0n, canaries: 0, cancelled: 0, wrong: 0, missed: 0, failed: 0, stalled: 0 };
  /** Why the device is no longer used. */
  fault: MillraceError | undefined;
  #faults: FaultCounts = NO_FAULTS;
  readonly #info: DeviceInfo;
  readonly #onFault: (fault: MillraceError) => void;

  constructor(info: DeviceInfo, onFault: (fault: MillraceError) => void) {
    this.#info = info;
    this.#onFault = onFault;
  }

  /** Records that `checked` results were recomputed and right. */
  recordOk(checked: number): void {
    this.#faults = recordOk(this.#faults, checked);
  }

  /** Records a fault. Past a limit the device is no longer used. */
  recordFault(kind: FaultKind, message: string): void {
    this.counts[kind]++;
    this.#faults = recordFault(this.#faults, kind);
    if (faultOf(this.#faults) === undefined) return;
    const { id, name } = this.#info;
    const selftest = `run \`millrace selftest --device ${id}\`; do not use this device until it passes`;
    this.#disable(
      new MillraceError({
        code: 'device-failed',
        message,
        asked: `work on ${id} (${name})`,
        advice: kind === 'stalled' ? `look for a loop without end in the kernel, or ${selftest}` : selftest,
      }),
    );
  }

  /**
   * Records an error from the device. A few consecutive errors are tolerated, unless the device is closed or failed.
   */
  recordError(error: unknown): void {
    const isGone = error instanceof MillraceError && (error.code === 'device-closed' || error.code === 'device-failed');
    if (!isGone) {
      this.recordFault('failed', error instanceof Error ? error.message : String(error));
      return;
    }
    this.counts.failed++;
    this.#disable(error);
  }

  #disable(fault: MillraceError): void {
    if (this.fault) return;
    this.fault = fault;
    this.#onFault(fault);
  }
}

/** True if the device caused the error. Any other error belongs to the job and would occur on every device. */
export const isDeviceError = (error: unknown): boolean =>
  error instanceof MillraceError && error.code.startsWith('device-');

/** Releases a resource and ignores errors: a device that is gone refuses every call and has nothing left to free. */
export function ignoreErrors(action: () => void): void {
  try {
    action();
  } catch {
    // the loss of the device is already recorded
  }
}
