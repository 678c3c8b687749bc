import { expect, test } from 'vitest';
import { addEnergySample, NO_ENERGY, perJoule } from './energy.js';

test('joules are the difference of the energy counter', () => {
  const began = addEnergySample(NO_ENERGY, { energyJ: 5000, powerW: 700 }, 0);
  expect(began.joules).toBe(0);
  expect(addEnergySample(began, { energyJ: 5450, powerW: 700 }, 1000).joules).toBe(450);
});

test('without a counter, joules are the mean power of two samples times the time between', () => {
  const began = addEnergySample(NO_ENERGY, { powerW: 100 }, 0);
  const later = addEnergySample(began, { powerW: 300 }, 2000);
  expect(later.joules).toBe(400);
  // A missing sample: the next one covers the time since the last.
  expect(addEnergySample(addEnergySample(later, undefined, 3000), { powerW: 300 }, 4000).joules).toBe(1000);
});

test('a counter that restarts at 0 does not reduce the total', () => {
  const before = addEnergySample(
    addEnergySample(NO_ENERGY, { energyJ: 9000, powerW: 50 }, 0),
    { energyJ: 9050, powerW: 50 },
    1000,
  );
  expect(before.joules).toBe(50);
  expect(addEnergySample(before, { energyJ: 3, powerW: 50 }, 2000).joules).toBe(100);
});

test('the energy of a device that reports none is unknown', () => {
  expect(addEnergySample(NO_ENERGY, { temperatureC: 60 }, 1000)).toBe(NO_ENERGY);
  expect(perJoule(7.2e9, 600)).toBe(12e6);
  expect(perJoule(7.2e9, undefined)).toBeUndefined();
  expect(perJoule(undefined, 600)).toBeUndefined();
  expect(perJoule(7.2e9, 0)).toBeUndefined();
});
