import { describe, expect, it } from 'vitest';
import { kernelStats, kernelText } from '../../../kernel/index.js';
import { headerScan, versionScan } from './kernel.js';

const kernel = headerScan({ topWordZero: true });

describe('the block kernel, written as three plain compressions', () => {
  it('does only the work per nonce that depends on the nonce', () => {
    const { always, words } = kernelStats(kernel);
    expect(always.additions).toBeLessThanOrEqual(1060);
    expect(always.rotations).toBeLessThanOrEqual(1040);
    expect(always.shifts).toBeLessThanOrEqual(160);
    expect(always.logic).toBeLessThanOrEqual(640);
    expect(words.jobAlways).toBeLessThanOrEqual(30);
    // and not suspiciously little: two compressions less their known rounds
    expect(always.additions).toBeGreaterThan(1000);
    expect(always.rotations).toBeGreaterThan(1000);
    expect(always.memory + always.multiplications + always.selects + always.divisions).toBe(0);
  });

  it('does rounds 61 to 63 of the second hash only under the first test', () => {
    const [before = '', after = ''] = kernelText(kernel, { target: 'ir' }).split('\n  when ');
    const times = (text: string, constant: string) => text.split(`, ${constant}\n`).length - 1;
    // Each round adds its own constant. The first hash needs all of them, the second only up to round 60 before the test.
    expect(times(before, '0x90befffa')).toBe(2); // round 60
    for (const late of ['0xa4506ceb', '0xbef9a3f7', '0xc67178f2']) {
      expect(times(before, late)).toBe(1);
      expect(times(after, late)).toBe(1);
    }
  });

  it('renders the same text each time', () => {
    expect(kernelText(kernel, { target: 'c', lanes: 8 })).toBe(
      kernelText(headerScan({ topWordZero: true }), { target: 'c', lanes: 8 }),
    );
  });
});

describe('several versions per item', () => {
  const sharing = (versions: number) => {
    const { always, words } = kernelStats(versionScan({ topWordZero: true, versions }));
    return { shared: (always.rotations + always.shifts + always.logic) / versions, additions: always.additions, words };
  };

  it('expand the second block once: by hand that leaves 1,667 operations of 1,819 with two, 1,591 with four', () => {
    const [one, two, four] = [1, 2, 4].map(sharing);
    expect(one!.shared).toBeLessThanOrEqual(1819);
    expect(two!.shared).toBeLessThanOrEqual(1667);
    expect(four!.shared).toBeLessThanOrEqual(1591);
    // and the rest is there: each version has two compressions less one expansion
    expect(four!.shared).toBeGreaterThan(1500);
    expect(four!.additions / 4).toBeGreaterThan(850);
    expect(four!.words.job).toBe(two!.words.job);
  });
});
