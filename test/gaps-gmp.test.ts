import { randomBytes } from 'node:crypto';
import koffi from 'koffi';
import { expect, test } from 'vitest';
import { isProbablePrime, nextPrime, power } from '../src/workload/gaps/kernel/reference-primes.js';

/** The prime tests of the reference against GMP, whose answers are the rules of the chain. */
const ROUNDS = 25;
const NUMBERS = process.env.MILLRACE_LONG === '1' ? 400 : 24;

interface Gmp {
  number(value: bigint): Uint8Array;
  value(number: Uint8Array): bigint;
  isPrime(number: Uint8Array, rounds: number): number;
  next(to: Uint8Array, number: Uint8Array): void;
  power(to: Uint8Array, base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): void;
}

function load(): Gmp | undefined {
  try {
    const library = koffi.load('libgmp.so.10');
    const set = library.func('int __gmpz_init_set_str(void *to, const char *digits, int base)');
    const get = library.func('char *__gmpz_get_str(void *to, int base, const void *number)');
    return {
      number: (value) => {
        const made = new Uint8Array(16);
        set(made, value.toString(16), 16);
        return made;
      },
      value: (number) => {
        const digits = new Uint8Array(1024);
        get(digits, 16, number);
        return BigInt(`0x${Buffer.from(digits.subarray(0, digits.indexOf(0))).toString()}`);
      },
      isPrime: library.func('int __gmpz_probab_prime_p(const void *number, int rounds)'),
      next: library.func('void __gmpz_nextprime(void *to, const void *number)'),
      power: library.func('void __gmpz_powm(void *to, const void *base, const void *exponent, const void *modulus)'),
    };
  } catch {
    return undefined;
  }
}

const gmp = load();

test('primes, next primes and powers match GMP', { timeout: 300_000 }, (ctx) => {
  if (!gmp) return ctx.skip('libgmp.so.10 is not installed');
  for (let i = 0; i < NUMBERS; i++) {
    const bytes = 4 + ((i * 7) % 45);
    const n = BigInt(`0x${randomBytes(bytes).toString('hex')}`) | 1n;
    const [number, result] = [gmp.number(n), gmp.number(0n)];
    gmp.next(result, number);
    const next = gmp.value(result);
    expect(nextPrime(n)).toBe(next);
    expect(gmp.isPrime(gmp.number(next), ROUNDS)).toBeGreaterThan(0);
    expect(isProbablePrime(next, ROUNDS)).toBe(true);
    for (const near of [n, n + 2n, next - 2n, next + 2n])
      expect(isProbablePrime(near), String(near)).toBe(gmp.isPrime(gmp.number(near), ROUNDS) > 0);
    gmp.power(result, gmp.number(3n), gmp.number(n - 1n), number);
    expect(power(3n, n - 1n, n)).toBe(gmp.value(result));
  }
});
