import { describe, expect, it } from 'vitest';
import { openOutput } from '../../console/output/output.js';
import { BITCOIN_DESCRIPTION } from '../block/mining/description.js';
import { Reporter } from './report.js';
import { Throttle } from './throttle.js';

describe('a throttle', () => {
  it('lets a burst pass, then one a second, and counts the others', () => {
    let now = 0;
    const throttle = new Throttle(() => now);
    const passed = Array.from({ length: 100 }, () => throttle.tryPass());
    expect(passed.filter((one) => one !== undefined)).toEqual(Array(20).fill(0));
    now += 1000;
    expect([throttle.tryPass(), throttle.tryPass()]).toEqual([80, undefined]);
    now += 3600_000;
    expect(Array.from({ length: 100 }, () => throttle.tryPass()).filter((one) => one !== undefined)).toHaveLength(20);
  });
});

describe('a server that causes endless messages', () => {
  const lines: string[] = [];
  const sink = { write: (text: string) => void lines.push(text) };
  const reporter = (): Reporter<never> => {
    lines.length = 0;
    const output = openOutput({ log: 'debug' }, { stdout: sink, stderr: sink });
    // Reporting uses neither the source nor the engine.
    return new Reporter(output, undefined as never, undefined as never, BITCOIN_DESCRIPTION as never);
  };

  it.each(['message', 'difficulty'] as const)('%s: only the first are shown', (state) => {
    const { onSourceEvent } = reporter().hooks;
    for (let n = 0; n < 10_000; n++) onSourceEvent?.({ state, server: 'pool', message: String(n) });
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.length).toBeLessThanOrEqual(150);
  });
});
