import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { openDevice } from '../../../device/registry.js';
import { DeviceRing } from '../generator/device-ring.js';
import { wordsOf } from '../space/words.js';
import { Plan } from './plan.js';

/** Masks with positions of any size, so that periods, blocks and rows have every length: from one quad to hundreds. */
const characters = Array.from({ length: 40 }, (_, k) => String.fromCharCode(48 + k));
const masks = fc
  .array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 9 })
  .map((sizes) => sizes.map((size) => characters.slice(0, size)));

test('runs of quads make the words that the mask defines, from any word on', async () => {
  const device = await openDevice('interpreter');
  const stream = device.stream();
  try {
    const property = fc.asyncProperty(
      masks,
      fc.constantFrom('', '\n'),
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.integer({ min: 1, max: 300 }),
      async (mask, separator, from, most) => {
        const words = wordsOf(mask);
        const start = BigInt(from) % words.size;
        const count = Math.min(most, Number(words.size - start));
        const plan = new Plan(mask, 'canonical', separator);
        const ring = await DeviceRing.open(device, plan, 2);
        const { buffer } = await ring.launch(stream, start, count, separator === '' ? 'packed' : 'newline');
        const made = new Uint8Array(Math.ceil((count * plan.stride) / 4) * 4);
        stream.read(buffer, made);
        await stream.mark().done;
        await ring.close();
        const wanted = new Uint8Array(count * plan.stride);
        words.fill(wanted, start, count, separator);
        expect(Buffer.from(made.subarray(0, wanted.length)).equals(wanted)).toBe(true);
      },
    );
    await fc.assert(property, { numRuns: byTier(6, 200) });
  } finally {
    stream.close();
    await device.close();
  }
});
