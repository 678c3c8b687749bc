import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { openDevice } from '../src/device/registry.js';
import { Engine } from '../src/engine/index.js';
import { isProbablePrime, previousPrime } from '../src/workload/gaps/reference-primes.js';
import { type Gap, searchGaps } from '../src/workload/gaps/search.js';

/** What a search finds, and what is said of primes, held against PARI/GP. It proves primes; here they are only tested. */
const isLong = process.env.MILLRACE_LONG === '1';

/** Numbers of these bits, each from a random start: short ones in many gaps, long ones in a few. */
const SEARCHES = isLong ? [65, 96, 128, 192, 256, 288, 320, 384, 512] : [65, 288];

/** From prime to prime; those around a gap are proved. */
const GAPS = [
  'gaps(a,b,m)=my(f=[],p=nextprime(a),q)',
  'while(p<b,q=nextprime(p+1);if(q-p>=m,if(!isprime(p)||!isprime(q),error(p));f=concat(f,[[p,q]]));p=q)',
  'f;',
].join(';');

/** One process for everything: a line is asked, a line is answered. */
function gp(lines: readonly string[]): string[] | undefined {
  const { stdout, error } = spawnSync('gp', ['-q', '-f', '-s', '256M'], {
    input: `${GAPS}\n${lines.map((line) => `print(${line})`).join('\n')}\n`,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return error ? undefined : stdout.trim().split('\n');
}

const has = gp(['1'])?.[0] === '1';

test('gaps of random numbers are those of PARI/GP', { timeout: 600_000 }, async (ctx) => {
  if (!has) return ctx.skip('there is no gp (PARI/GP)');
  const device = await openDevice('wasm');
  const engine = new Engine([device]);
  const searched: { start: bigint; length: number; least: number; gaps: Gap[] }[] = [];
  try {
    for (const bits of SEARCHES) {
      const start = (1n << BigInt(bits - 1)) | (BigInt(`0x${randomBytes(64).toString('hex')}`) >> BigInt(513 - bits));
      const least = 2 * Math.ceil((bits * Math.LN2 * 3) / 2); // one prime in e³ = 20 begins such a gap
      const length = bits * 150;
      const gaps: Gap[] = [];
      const request = { start, length: BigInt(length), leastGap: least, primes: 3000, window: 2 ** 13, perChain: 32 };
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

test('primes and the ones before them are those of PARI/GP', { timeout: 600_000 }, (ctx) => {
  if (!has) return ctx.skip('there is no gp (PARI/GP)');
  const numbers = Array.from({ length: isLong ? 2000 : 60 }, (_, k) =>
    BigInt(`0x${randomBytes(2 + (k % 40)).toString('hex')}`),
  );
  const answers = gp(numbers.map((n) => `[isprime(${n}),precprime(${n}-1)]`)) ?? [];
  for (const [k, n] of numbers.entries()) {
    const expected = `[${Number(isProbablePrime(n))}, ${previousPrime(n) ?? 0n}]`;
    expect(answers[k], String(n)).toBe(expected);
  }
});
