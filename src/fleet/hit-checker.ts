import { InterpreterDevice } from '../device/interpreter/device.js';
import { Overflow } from '../engine/flow/flow.js';
import { searchFlow } from '../engine/makers/search.js';
import type { KernelJob } from './manifest/index.js';
import { encodeValues, type PlainRecord, plainValue } from './manifest/index.js';
import type { FoundHit } from './protocol/index.js';

/** Checks hits by computing them again, on the interpreter, which defines the language. */
export class HitChecker {
  readonly #flow: ReturnType<typeof searchFlow>;

  constructor({ kernel, job, buffers, ring }: Pick<KernelJob, 'kernel' | 'job' | 'buffers' | 'ring'>) {
    this.#flow = searchFlow(kernel, { job, buffers, ...(ring !== undefined && { ring }) });
  }

  /** Says what is wrong with the hits; undefined if nothing is. */
  async check(hits: readonly FoundHit[]): Promise<string | undefined> {
    const given = grouped(hits);
    const right = await this.hitsAt([...given.keys()]);
    for (const [index, found] of given) {
      const expected = right.get(index);
      if (expected === undefined) return `index ${index} has more hits than a ring holds`;
      const texts = expected.map(({ fields }) => encodeValues(fields));
      const isSame =
        texts.length === found.length && found.every(({ fields }, at) => encodeValues(fields) === texts[at]);
      if (!isSame)
        return texts.length === 0 ? `index ${index} is not a hit` : `the hit at index ${index} has other values`;
    }
    return undefined;
  }

  /** Computes the hits of indices. One with more hits than a ring holds is left out. */
  async hitsAt(indices: readonly bigint[]): Promise<Map<bigint, FoundHit[]>> {
    const found = new Map<bigint, FoundHit[]>();
    if (indices.length === 0) return found;
    const device = new InterpreterDevice();
    try {
      const open = await this.#flow.open(device);
      const slot = await open.slot(device.stream());
      for (const start of indices) {
        const piece = { start, count: 1 };
        await slot.submit(piece).done;
        const hits = slot.reap(piece);
        if (hits instanceof Overflow) continue;
        found.set(
          start,
          hits.map(({ index, ...fields }) => ({ index, fields: plainValue(fields) as PlainRecord })),
        );
      }
      return found;
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
