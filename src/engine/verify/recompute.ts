import { InterpreterDevice } from '../../device/interpreter/device.js';
import { MillraceError } from '../../kernel/error.js';
import type { Flow, Overflow } from '../flow/flow.js';

/**
 * Computes the result of one index on the interpreter, which defines the language and cannot fail like hardware. It
 * takes about as long as the check that has just refused the index.
 */
export async function recompute<Result>(flow: Flow<Result>, index: bigint): Promise<Result | Overflow> {
  const device = new InterpreterDevice();
  try {
    const open = await flow.open(device);
    const slot = await open.slot(device.stream());
    const piece = { start: index, count: 1 };
    await slot.submit(piece).done;
    return slot.reap(piece);
  } finally {
    await device.close();
  }
}

/** The error of a kernel that computes, on the interpreter too, what the check refuses. `computed` is the kernel's value. */
export function disagreement(
  kernel: string,
  index: bigint,
  computed: string,
  reason: string | undefined,
): MillraceError {
  return new MillraceError({
    code: 'verify-disagrees',
    message: `your kernel and your verify disagree at index ${index}`,
    asked: `kernel ${kernel}: ${computed}; verify: ${reason ?? 'false'}`,
    advice:
      'the interpreter computes the same as the device, so no hardware is at fault: correct the kernel or the verify',
  });
}

/** Formats the fields of a hit: `n = 7, digest = [1, 2]`. */
export function formatHit({ index: _, ...fields }: { readonly index: bigint }): string {
  return Object.entries(fields as Readonly<Record<string, unknown>>)
    .map(([name, value]) => `${name} = ${Array.isArray(value) ? `[${value.join(', ')}]` : String(value)}`)
    .join(', ');
}

/** Formats the bytes of a row, the first 32 of them. */
export function formatRow(bytes: Uint8Array): string {
  const hex = [...bytes.subarray(0, MAX_ROW_BYTES)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `row ${hex}${bytes.length > MAX_ROW_BYTES ? ` … (${bytes.length} bytes)` : ''}`;
}

const MAX_ROW_BYTES = 32;

/** True if two values of the same fields are equal: numbers, bigints, booleans and arrays of them. */
export function isSameHit(a: object, b: object): boolean {
  const other = b as Readonly<Record<string, unknown>>;
  return Object.entries(a).every(([name, value]) =>
    Array.isArray(value)
      ? value.every((entry, at) => Object.is(entry, (other[name] as readonly unknown[] | undefined)?.[at]))
      : Object.is(value, other[name]),
  );
}
