import { expect, test } from 'vitest';
import type { Completion, Report, Resident } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import { submitResident } from './resident.js';

const report = (complete: boolean): Report => ({ startedNs: 1n, endedNs: 2n, complete });
const ended = (complete: boolean): Completion => ({ done: Promise.resolve(report(complete)) });
const fault = new MillraceError({ code: 'device-failed', message: 'the grid stalled' });

/** A grid whose ranges end as `complete` says. `breaks`: the grid fails with the first one. */
function grid(complete: boolean, breaks: boolean): Resident & { submitted: number } {
  const resident = {
    submitted: 0,
    fault: undefined as MillraceError | undefined,
    submit(): Completion {
      resident.submitted++;
      if (breaks) resident.fault = fault;
      return ended(complete);
    },
    cancel: () => undefined,
    close: () => undefined,
  };
  return resident;
}

test.each([
  ['done by the grid', true, false, 0, true],
  ['done by the grid, which broke afterwards', true, true, 0, true],
  ['cancelled and not run again', false, false, 0, false],
  ['lost with the grid and run by launches', false, true, 1, true],
])('a range is %s', async (_, complete, breaks, launched, isComplete) => {
  let launches = 0;
  const resident = grid(complete, breaks);
  const completion = submitResident(resident, { count: 1 }, new Uint32Array(4), () => {
    launches++;
    return ended(true);
  });
  expect((await completion.done).complete).toBe(isComplete);
  expect({ launches, submitted: resident.submitted }).toEqual({ launches: launched, submitted: 1 });
});

test('a broken grid gets no ranges; an error of the launches is reported', async () => {
  const resident = grid(false, true);
  const error = new MillraceError({ code: 'device-failed', message: 'no launches either' });
  const refuse = (): Completion => ({ done: Promise.reject(error) });
  await expect(submitResident(resident, { count: 1 }, new Uint32Array(4), refuse).done).rejects.toBe(error);
  await expect(submitResident(resident, { count: 1 }, new Uint32Array(4), refuse).done).rejects.toBe(error);
  expect(resident.submitted).toBe(1);
});
