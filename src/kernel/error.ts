/** Identifies an error for programs. These codes are stable; the message text is for people and may change. */
export type ErrorCode =
  | 'kernel-scope' // a value used outside the block, or the kernel, that made it
  | 'kernel-type' // an operand of the wrong type
  | 'kernel-value' // a literal, parameter or job value that its type cannot hold
  | 'kernel-control' // a statement in the wrong place (breakWhen outside a loop, tracing outside a kernel)
  | 'kernel-invalid' // the checker found an IR that breaks a rule
  | 'kernel-bounds' // an access outside a buffer, table or array (interpreter and checked builds)
  | 'kernel-budget' // more statements or parameter words than the target accepts
  | 'device-unknown' // the device name is not known
  | 'device-absent' // the device is supported but not present on this machine
  | 'device-capability' // the device cannot do what the kernel needs
  | 'device-compile' // the driver's or system's compiler refused the generated text
  | 'device-memory' // allocation failed
  | 'device-closed' // use after close()
  | 'device-failed' // a worker or driver died with work in flight
  | 'buffer-range' // a transfer outside its buffer, or a buffer too small for its role
  | 'launch-range' // a launch outside what the contract allows
  | 'launch-arguments' // a launch whose parameters or buffers do not fit the program
  | 'verify-failed' // a result could not be checked: the check itself failed
  | 'verify-disagrees' // the interpreter computes what the check refuses: kernel or check is wrong
  | 'input-format' // a malformed input file
  | 'io' // reading or writing a file failed
  | 'usage'; // an invalid command line

export interface ErrorDetails {
  readonly code: ErrorCode;
  /** What is wrong, one sentence. */
  readonly message: string;
  /** What was requested, in the caller's words. */
  readonly asked?: string;
  /** What to do about it. */
  readonly advice?: string;
  readonly cause?: unknown;
}

/** The class of every error that Millrace throws on purpose. `message` holds summary, asked and advice, one per line. */
export class MillraceError extends Error {
  readonly code: ErrorCode;
  /** What is wrong, without `asked` and `advice`. */
  readonly summary: string;
  readonly asked: string | undefined;
  readonly advice: string | undefined;

  constructor(details: ErrorDetails) {
    const lines = [details.message];
    if (details.asked !== undefined) lines.push(`  asked:  ${details.asked}`);
    if (details.advice !== undefined) lines.push(`  advice: ${details.advice}`);
    super(lines.join('\n'), details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'MillraceError';
    this.code = details.code;
    this.summary = details.message;
    this.asked = details.asked;
    this.advice = details.advice;
  }
}

/** Returns the first line of an error's message, or of any other thrown value converted to text. */
export function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
}
