import type { DeviceProgram } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import type { Field } from '../../kernel/ir/program.js';
import type { Fields } from '../../kernel/language/signature.js';
import { fromWords, wordsOf } from '../../kernel/language/types.js';
import type { Piece } from '../work/space.js';
import { Overflow } from './flow.js';
import type { OutputValues } from './values.js';

/** A hit: its index in the job's space, and the fields that the kernel emitted. */
export type Hit<H extends Fields = Fields> = { readonly index: bigint } & Omit<OutputValues<H>, 'index'>;

/**
 * Returns the hits in a ring, ascending. Hits of one index are ordered by their words, so that the order does not
 * depend on the device.
 */
export function hitsIn<H extends Fields>(
  { start, count }: Piece,
  { words, program, hits: capacity }: { words: Uint32Array; program: DeviceProgram; hits: number },
): readonly Hit<H>[] | Overflow {
  const found = words[0] ?? 0;
  if (found === 0) return [];
  if (found > capacity) return new Overflow(found, capacity);
  const { headerWords, recordWords } = program.ring;
  const at = Array.from({ length: found }, (_, record) => headerWords + record * recordWords);
  at.sort((a, b) => {
    for (let word = 0; word < recordWords; word++) {
      const order = (words[a + word] ?? 0) - (words[b + word] ?? 0);
      if (order !== 0) return order;
    }
    return 0;
  });
  return at.map((record) => {
    const item = words[record] ?? 0;
    if (item >= count) throw outOfRangeError(program, item, count);
    return { index: start + BigInt(item), ...fieldsAt(program.hit, words, record + 1) } as Hit<H>;
  });
}

function fieldsAt(fields: readonly Field[], words: Uint32Array, first: number): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  let at = first;
  for (const { name, type, length, array } of fields) {
    const size = wordsOf(type);
    const list = Array.from({ length }, (_, element) => fromWords(type, words, at + element * size));
    values[name] = array ? list : list[0];
    at += length * size;
  }
  return values;
}

function outOfRangeError({ name, device }: DeviceProgram, item: number, count: number): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `${device.info.id} reported item ${item} of a launch of ${count} items`,
    asked: `hits of ${name}`,
    advice: `run \`millrace selftest --device ${device.info.id}\``,
  });
}
