import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { LockedMemory } from './locked-memory.js';

const SLAB = 2 ** 14;

/** A runtime whose regions start at arbitrary addresses, and that records what it locks. */
class Runtime {
  #next = 1_000_016;
  readonly regions = new Map<number, Uint8Array>();
  refuses = false;
  readonly memory = new LockedMemory<{ readonly bytes: Uint8Array; readonly address: number }>(
    {
      lock: (bytes) => {
        if (this.refuses) return undefined;
        const region = { bytes: new Uint8Array(bytes), address: this.#next };
        this.#next += bytes + 48;
        this.regions.set(region.address, region.bytes);
        return region;
      },
      unlock: ({ address }) => expect(this.regions.delete(address)).toBe(true),
      part: ({ bytes, address }, at, length) => ({ bytes: bytes.subarray(at, at + length), address: address + at }),
    },
    SLAB,
  );
}

const size = fc.oneof(fc.integer({ min: 1, max: SLAB / 8 }), fc.integer({ min: 1, max: 2 * SLAB }));
const step = fc.oneof(fc.record({ take: size }), fc.record({ give: fc.nat() }));

test('allocations are zeroed and never overlap; trim unlocks every region once all are released', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const runtime = new Runtime();
      const out: { readonly bytes: Uint8Array; readonly address: number; readonly mark: number }[] = [];
      const give = ({ bytes, address, mark }: (typeof out)[number]): void => {
        expect(bytes.every((byte) => byte === mark)).toBe(true); // no other owner wrote there
        expect(runtime.memory.release(address)).toBe(true);
        expect(runtime.memory.release(address)).toBe(false);
      };
      for (const [k, action] of steps.entries()) {
        if ('give' in action) {
          const [piece] = out.splice(action.give % Math.max(1, out.length), 1);
          if (piece) give(piece);
          continue;
        }
        const piece = runtime.memory.alloc(action.take)!;
        expect(piece.bytes.length).toBe(action.take);
        expect(piece.bytes.every((byte) => byte === 0)).toBe(true);
        const mark = 1 + (k % 255);
        piece.bytes.fill(mark);
        out.push({ ...piece, mark });
      }
      for (const piece of out) give(piece);
      runtime.memory.trim();
      expect(runtime.regions.size).toBe(0);
    }),
    { numRuns: byTier(20, 100) },
  );
});

test('small pieces share a region, large ones do not', () => {
  const runtime = new Runtime();
  const { memory } = runtime;
  const small = Array.from({ length: 8 }, () => memory.alloc(SLAB / 16)!);
  expect(runtime.regions.size).toBe(1);
  const large = memory.alloc(SLAB)!;
  expect(runtime.regions.size).toBe(2);
  memory.release(large.address);
  expect(runtime.regions.size).toBe(1);
  for (const { address } of small) memory.release(address);
  expect(runtime.regions.size).toBe(1); // kept for the next allocation
  memory.trim();
  expect(runtime.regions.size).toBe(0);
});

test('trim keeps a region that is in use', () => {
  const runtime = new Runtime();
  const piece = runtime.memory.alloc(10)!;
  runtime.memory.trim();
  expect(runtime.regions.size).toBe(1);
  expect(runtime.memory.release(piece.address)).toBe(true);
});

test('alloc returns undefined if the runtime cannot lock memory', () => {
  const runtime = new Runtime();
  runtime.refuses = true;
  expect(runtime.memory.alloc(10)).toBe(undefined);
  expect(runtime.memory.alloc(SLAB)).toBe(undefined);
  expect(runtime.memory.alloc(0)).toBe(undefined);
  expect(runtime.memory.release(123)).toBe(false);
});
