import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { candidateFlow, Engine, type HostWindow, Overflow, openDevice } from '../src/index.js';
import { type Gap, searchGaps } from '../src/workload/gaps/job/search.js';
import { isProbablePrime, previousPrime } from '../src/workload/gaps/kernel/reference-primes.js';
import { byTier } from './tier.js';

/** Searches and prime tests against PARI/GP. It proves primes; Millrace only tests them. */

/** Sizes of numbers in bits. Each search has a random start. */
const SEARCHES = byTier([128], [65, 288], [65, 96, 128, 192, 256, 288, 320, 384, 512]);

/** Goes from prime to prime; proves the primes around a gap. */
const GAPS = [
  'gaps(a,b,m)=my(f=[],p=nextprime(a),q)',
  'while(p<b,q=nextprime(p+1);if(q-p>=m,if(!isprime(p)||!isprime(q),error(p));f=concat(f,[[p,q]]));p=q)',
  'f;',
].join(';');

/** Runs one process for all lines, and returns an answer for each. */
function gp(lines: readonly string[]): string[] | undefined {
  const { stdout, error } = spawnSync('gp', ['-q', '-f', '-s', '256M'], {
    input: `${GAPS}\n${lines.map((line) => `print(${line})`).join('\n')}\n`,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return error ? undefined : stdout.trim().split('\n');
}

const has = gp(['1'])?.[0] === '1';

test('gaps above random numbers match PARI/GP', { timeout: 600_000 }, async (ctx) => {
  if (!has) return ctx.skip('gp (PARI/GP) is not installed');
  const device = await openDevice('wasm');
  const engine = new Engine([device]);
  const searched: { start: bigint; length: number; least: number; gaps: Gap[] }[] = [];
  try {
    for (const bits of SEARCHES) {
      const start = (1n << BigInt(bits - 1)) | (BigInt(`0x${randomBytes(64).toString('hex')}`) >> BigInt(513 - bits));
      const least = 2 * Math.ceil((bits * Math.LN2 * 3) / 2); // one prime in e³ = 20 begins a gap this long
      const length = bits * 150;
      const gaps: Gap[] = [];
      const request = { start, length: BigInt(length), minGap: least, primes: 3000, window: 2 ** 13, perChain: 32 };
      for await (const gap of searchGaps(request, { engine })) gaps.push(gap);
      searched.push({ start, length, least, gaps });
    }
  } finally {
    await engine.close();
    await device.close();
  }
  const asked = searched.map(({ start, length, least }) => `gaps(${start},${start + BigInt(length)},${least})`);
  const answers = gp(asked) ?? [];
  for (const [k, { start, gaps }] of searched.entries()) {
    const expected = [...(answers[k] ?? '').matchAll(/\[(\d+), (\d+)\]/g)].map(([, p, q]) => `${p} ${q}`);
    expect(
      gaps.map(({ start: p, end: q }) => `${p} ${q}`),
      `from ${start}`,
    ).toEqual(expected);
  }
  expect(searched.some(({ gaps }) => gaps.length > 0)).toBe(true);
});

test("candidates of a caller's own bitmaps match PARI/GP", { timeout: 600_000 }, async (ctx) => {
  if (!has) return ctx.skip('gp (PARI/GP) is not installed');
  const SMALL = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41];
  const [window, depth, minGap] = [2 ** 13, 3, 100];
  const start = (1n << 287n) | (BigInt(`0x${randomBytes(36).toString('hex')}`) >> 1n);
  /** Divides every number, with bigints. */
  const bitmap = (from: HostWindow, words: Uint32Array): void => {
    for (let at = 1; at < from.length; at += 2) {
      const n = from.start + BigInt(at);
      if (SMALL.some((p) => n % BigInt(p) === 0n)) words[at >> 5]! |= 1 << (at & 31);
    }
  };
  const numbers = { start, length: 1n << 20n, minGap, primes: 13 };
  const device = await openDevice('wasm');
  const stream = device.stream();
  const open = await candidateFlow(numbers, { window, depth, hostSieve: { bitmap, layout: 'all' } }).open(device);
  const slot = await open.slot(stream);
  const found: bigint[][] = [];
  const pieces = [
    { start: 0n, count: depth * window },
    { start: BigInt(depth * window), count: 5001 },
  ];
  try {
    for (const piece of pieces) {
      await slot.submit(piece).done;
      const left = slot.reap(piece);
      if (left instanceof Overflow) throw new Error(`${left.found} candidates`);
      expect(left.counts.reduce((sum, count) => sum + count, 0)).toBe(left.count);
      found.push([...left.offsets].map((at) => left.base + BigInt(at)));
    }
  } finally {
    slot.close();
    open.close();
    stream.close();
    await device.close();
  }
  const answers = gp(
    pieces.map(({ start: first, count }) => {
      const base = (start + first) & ~1n;
      const end = base + 2n * ((start + first - base + BigInt(count)) / 2n) + BigInt(minGap);
      return `select(n->gcd(n,2*${SMALL.join('*')})==1,[${base}..${end}])`;
    }),
  );
  for (const [k, numbersLeft] of found.entries())
    expect(`[${numbersLeft.join(', ')}]`, `from ${start}`).toBe(answers?.[k]);
  expect(found[0]!.length).toBeGreaterThan(1000);
});

test('primes and previous primes match PARI/GP', { timeout: 600_000 }, (ctx) => {
  if (!has) return ctx.skip('gp (PARI/GP) is not installed');
  const numbers = Array.from({ length: byTier(60, 60, 2000) }, (_, k) =>
    BigInt(`0x${randomBytes(2 + (k % 40)).toString('hex')}`),
  );
  const answers = gp(numbers.map((n) => `[isprime(${n}),precprime(${n}-1)]`)) ?? [];
  for (const [k, n] of numbers.entries()) {
    const expected = `[${Number(isProbablePrime(n))}, ${previousPrime(n) ?? 0n}]`;
    expect(answers[k], String(n)).toBe(expected);
  }
});
