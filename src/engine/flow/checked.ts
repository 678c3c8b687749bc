import { MillraceError } from '../../kernel/error.js';
import { bytesOf, type FieldValues, type Kernel } from '../../kernel/index.js';
import { type Block, innerBlocks } from '../../kernel/ir/program.js';
import { certainAccesses, type KnownItem } from '../../kernel/ir/reach.js';

/**
 * Which chunks of a job trap on an access outside a buffer, table or array: all of them (`true`), none (`false`), or those of
 * each device until its first chunk has completed (`first`). A trap is the error `kernel-bounds` with line, index and
 * size. Without checks such an access is undefined, and on the native device it can end the process. Checked chunks can
 * also be cancelled in the middle of a `whileTrue`, except on WebGPU.
 */
export type Checked = boolean | 'first';

/** Returns the part of a flow that an option `checked` sets. */
export function checkedFlow(checked: Checked = 'first'): {
  readonly compile?: { readonly checked: true };
  readonly checkFirst?: true;
} {
  if (checked === 'first') return { checkFirst: true };
  return checked ? { compile: { checked: true } } : {};
}

/** True if a checked build of the kernel differs: it has accesses that are guarded, or loops that may not end. */
export function needsChecks(kernel: Kernel): boolean {
  const known = needing.get(kernel);
  if (known !== undefined) return known;
  const { buffers, tables, near, body } = kernel.trace();
  const needs = buffers.length + tables.length + near.length > 0 || isGuarded(body);
  needing.set(kernel, needs);
  return needs;
}

const needing = new WeakMap<Kernel, boolean>();

/** True if an item has an array, or a loop without a fixed number of rounds that does not check whether its launch was cancelled. */
const isGuarded = (block: Block): boolean =>
  block.some(
    (statement) =>
      statement.kind === 'array' ||
      (statement.kind === 'while' && !statement.isLong) ||
      innerBlocks(statement).some(isGuarded),
  );

/**
 * Throws `buffer-range` if one of the items is certain to access an element that its buffer does not have. `bytes` holds
 * the sizes that are known, by buffer. `part` names what has that size in the message.
 */
export function checkReach(
  kernel: Kernel,
  items: readonly KnownItem[],
  bytes: Readonly<Record<string, number>>,
  part = 'buffer',
): void {
  const isDeclared = (name: string): boolean => Object.hasOwn(kernel.signature.buffers ?? {}, name);
  if (!Object.keys(bytes).some(isDeclared)) return;
  const program = kernel.trace();
  for (const known of items) {
    for (const { buffer, element, origin } of certainAccesses(program, known)) {
      const size = Object.hasOwn(bytes, buffer.name) ? bytes[buffer.name] : undefined;
      if (size === undefined) continue;
      const length = Math.floor(size / bytesOf[buffer.type]);
      if (element < BigInt(length)) continue;
      throw new MillraceError({
        code: 'buffer-range',
        message: `kernel ${kernel.name}: index ${known.index} accesses element ${element} of ${part} ${buffer.name}, which has ${length}`,
        asked: [...origin.helpers, origin.line].join(' > '),
        advice: `give it at least ${(element + 1n) * BigInt(bytesOf[buffer.type])} bytes, or guard the access with when()`,
      });
    }
  }
}

/** Returns the first and the last index of a range, with the values of their job. */
export function endsOf(job: unknown, { start, length }: { start: bigint; length: bigint }): KnownItem[] {
  const values = (job ?? {}) as FieldValues;
  return [...new Set([start, start + length - 1n])].map((index) => ({ job: values, index }));
}
