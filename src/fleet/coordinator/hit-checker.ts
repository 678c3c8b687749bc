import { InterpreterDevice } from '../../device/interpreter/device.js';
import { Overflow } from '../../engine/flow/flow.js';
import { searchFlow } from '../../engine/makers/search.js';
import type { KernelJob } from '../manifest/index.js';
import { encodeValues, type PlainRecord, plainValue } from '../manifest/index.js';
import type { FoundHit } from '../protocol/index.js';

/** Checks hits by computing them again, on the interpreter, which defines the language. */
export class HitChecker {
  readonly #flow: ReturnType<typeof searchFlow>;

  constructor({ kernel, job, buffers, ring }: KernelJob) {
    this.#flow = searchFlow(kernel, { job, buffers, ...(ring !== undefined && { ring }) });
  }

  /** Says what is wrong with the hits; undefined if nothing is. */
  async check(hits: readonly FoundHit[]): Promise<string | undefined> {
    const device = new InterpreterDevice();
    try {
      const open = await this.#flow.open(device);
      const slot = await open.slot(device.stream());
      const byIndex = grouped(hits);
      for (const [index, given] of byIndex) {
        const piece = { start: index, count: 1 };
        await slot.submit(piece).done;
        const right = slot.reap(piece);
        if (right instanceof Overflow) return `index ${index} has more hits than a ring holds`;
        const texts = right.map(({ index: _, ...fields }) => encodeValues(plainValue(fields) as PlainRecord));
        const isSame =
          texts.length === given.length && given.every(({ fields }, at) => encodeValues(fields) === texts[at]);
        if (!isSame)
          return texts.length === 0 ? `index ${index} is no hit` : `the hit at index ${index} has other values`;
      }
      return undefined;
    } finally {
      await device.close();
    }
  }
}

function grouped(hits: readonly FoundHit[]): Map<bigint, FoundHit[]> {
  const groups = new Map<bigint, FoundHit[]>();
  for (const hit of hits) groups.set(hit.index, [...(groups.get(hit.index) ?? []), hit]);
  return groups;
}
