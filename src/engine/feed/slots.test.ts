import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { freeSlot, openSlotPool, type StreamSlot, takeSlot } from './slots.js';

describe('slots', () => {
  test.each([1, 2, 3, 8])('chunk k goes to stream k mod %i, three to each', (streams) => {
    let slots = openSlotPool(streams);
    const taken: StreamSlot[] = [];
    for (let next = takeSlot(slots); next; next = takeSlot(slots)) {
      taken.push(next.slot);
      slots = next.slots;
    }
    expect(taken.length).toBe(3 * streams);
    expect(taken.map(({ stream }) => stream)).toEqual(taken.map((_, k) => k % streams));
    expect(new Set(taken.map(({ stream, index }) => `${stream}.${index}`)).size).toBe(3 * streams);
  });

  test('a stream whose chunks are slow does not hold up the others, which continue in turn', () => {
    let slots = openSlotPool(3, 2);
    const flight: StreamSlot[] = [];
    const served: number[] = [];
    const fill = () => {
      for (let next = takeSlot(slots); next; next = takeSlot(slots)) {
        slots = next.slots;
        flight.push(next.slot);
        served.push(next.slot.stream);
      }
    };
    fill();
    served.length = 0;
    for (let completion = 0; completion < 12; completion++) {
      // Stream 1 never completes; the others do, oldest first.
      const at = flight.findIndex(({ stream }) => stream !== 1);
      slots = freeSlot(slots, flight.splice(at, 1)[0]!);
      fill();
    }
    expect(served).toEqual([0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2]);
  });

  test('no slot is taken twice, and a freed slot can be taken again, in any order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 2, max: 4 }),
        fc.array(fc.nat(30)),
        (n, per, picks) => {
          let slots = openSlotPool(n, per);
          const held: StreamSlot[] = [];
          for (const pick of picks) {
            const next = pick % 3 === 0 ? undefined : takeSlot(slots);
            if (next) {
              expect(held).not.toContainEqual(next.slot);
              held.push(next.slot);
              slots = next.slots;
            } else if (held.length > 0) {
              const [slot] = held.splice(pick % held.length, 1);
              slots = freeSlot(freeSlot(slots, slot!), slot!);
            }
            expect(held.length + slots.free.length).toBe(n * per);
          }
        },
      ),
    );
  });
});
