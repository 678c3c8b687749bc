import { expect, it } from 'vitest';
import type { Buffer, Device, Encoder, Pass, QuerySet } from '../api.js';
import { type LastPass, Submission } from './submission.js';

it('does not count the time a pass waits for the previous one', () => {
  const last: LastPass = { endedNs: 0n };
  const times: number[] = [];
  /** Submits passes with these start and end timestamps. */
  const submit = (...stamps: readonly bigint[]): void => {
    const range = BigUint64Array.from(stamps).buffer;
    const page = {
      ticket: { getMappedRange: () => range, unmap: () => undefined } as unknown as Buffer,
      queries: { set: {} as QuerySet, first: 0, resolved: {} as Buffer },
      dummySource: {} as Buffer,
    };
    const encoder = { beginComputePass: () => ({}) as Pass } as unknown as Encoder;
    const device = { createCommandEncoder: () => encoder } as unknown as Device;
    const submission = new Submission(device, page, last, (ns) => ns);
    for (let at = 0; at < stamps.length; at += 2) submission.timedPass((ms) => times.push(ms));
    submission.collect({ startedMs: 0, endedMs: 0 });
  };
  submit(1_000_000n, 4_000_000n, 1_100_000n, 9_000_000n);
  submit(4_200_000n, 10_000_000n);
  submit(20_000_000n, 21_500_000n);
  expect(times).toEqual([3, 5, 1, 1.5]);
});
