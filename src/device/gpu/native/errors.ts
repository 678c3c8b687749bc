import { type ErrorCode, MillraceError } from '../../../kernel/error.js';
import { FatalError } from '../worker/driver.js';

/**
 * Result codes of a runtime as errors for people: the function, the code with its name, the device, the kernel, and what
 * to do. 0 is success.
 */
export abstract class DriverErrors<Call extends string> {
  protected readonly device: string;
  protected abstract readonly codes: ReadonlyMap<number, ErrorCode>;
  protected abstract readonly hints: ReadonlyMap<number, string>;

  /** `device`: as people know it, "cuda:0 (NVIDIA H200)". */
  constructor(device: string) {
    this.device = device;
  }

  /** "CUDA_ERROR_NO_DEVICE (100)", with the runtime's own words for it. */
  protected abstract nameOf(code: number): string;
  /** True if the device is of no more use after this code. */
  protected abstract isFatal(call: Call, code: number): boolean;

  /** Throws where the call failed. `doing` says what it was for, in few words. */
  check(call: Call, code: number, doing?: string): void {
    if (code !== 0) throw this.of(call, code, doing);
  }

  /** The error of a code; a FatalError where the device is of no more use. */
  of(call: Call, code: number, doing = ''): MillraceError | FatalError {
    const error = this.describe(call, code, doing);
    return this.isFatal(call, code) ? new FatalError(error) : error;
  }

  describe(call: Call, code: number, doing = ''): MillraceError {
    return this.error(code, `${call} failed`, doing === '' ? call : `${doing} (${call})`, this.hints.get(code));
  }

  protected error(code: number, what: string, asked: string, hint: string | undefined): MillraceError {
    return new MillraceError({
      code: this.codes.get(code) ?? 'device-failed',
      message: `${this.device}: ${what} with ${this.nameOf(code)}`,
      asked,
      advice: hint ?? 'if it happens again, please report it with the output of `millrace doctor`',
    });
  }
}
