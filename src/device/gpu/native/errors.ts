import { type ErrorCode, MillraceError } from '../../../kernel/error.js';
import { FatalError } from '../worker/driver.js';

/**
 * Converts a runtime's result codes to errors: the function, the code with its name, the device, the kernel, and
 * advice. 0 is success.
 */
export abstract class DriverErrors<Call extends string> {
  protected readonly device: string;
  protected abstract readonly codes: ReadonlyMap<number, ErrorCode>;
  protected abstract readonly hints: ReadonlyMap<number, string>;

  /** `device`: its display name, "cuda:0 (NVIDIA H200)". */
  constructor(device: string) {
    this.device = device;
  }

  /** "CUDA_ERROR_NO_DEVICE (100)", with the runtime's own description. */
  protected abstract describeCode(code: number): string;
  /** True if the device is unusable after this code. */
  protected abstract isFatal(call: Call, code: number): boolean;

  /** Throws if the call failed. `doing` says briefly what the call was for. */
  check(call: Call, code: number, doing?: string): void {
    if (code !== 0) throw this.errorFor(call, code, doing);
  }

  /** Returns the error of a code; a FatalError if the device is unusable. */
  errorFor(call: Call, code: number, doing = ''): MillraceError | FatalError {
    const error = this.describe(call, code, doing);
    return this.isFatal(call, code) ? new FatalError(error) : error;
  }

  describe(call: Call, code: number, doing = ''): MillraceError {
    return this.error(code, `${call} failed`, doing === '' ? call : `${doing} (${call})`, this.hints.get(code));
  }

  protected error(code: number, what: string, asked: string, hint: string | undefined): MillraceError {
    return new MillraceError({
      code: this.codes.get(code) ?? 'device-failed',
      message: `${this.device}: ${what} with ${this.describeCode(code)}`,
      asked,
      advice: hint ?? 'if it happens again, please report it with the output of `millrace doctor`',
    });
  }
}
