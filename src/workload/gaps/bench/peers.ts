import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Candidate } from '../../../bench/measure.js';
import { koffi } from '../../../device/native/koffi.js';
import { digestOf } from './rate.js';

/** GMP's `mpz_powm` in one thread of this process: miners test with it. Undefined if there is no libgmp. */
export function gmpPower(base: bigint, count: number, runs: number): Candidate | undefined {
  const gmp = load();
  if (gmp === undefined) return undefined;
  const number = (value: bigint): Uint8Array => {
    const made = new Uint8Array(MPZ_BYTES);
    // SAFETY: an mpz_t is 16 bytes, which GMP fills; they live as long as the array, and the text is copied.
    gmp.set(made, value.toString(16), 16);
    return made;
  };
  const moduli = Array.from({ length: count }, (_, i) => base + BigInt(2 * i + 1));
  const numbers = moduli.map((n) => ({ n: number(n), exponent: number(n - 1n) }));
  const [two, result] = [number(2n), number(0n)];
  const run = async () => {
    const passed = new Uint32Array(count);
    for (const [at, { n, exponent }] of numbers.entries()) {
      // SAFETY: four numbers that GMP has made; the result is none of the others.
      gmp.power(result, two, exponent, n);
      passed[at] = Number(gmp.compare(result, 1) === 0);
    }
    return { work: count, digest: digestOf(passed) };
  };
  return { name: 'GMP mpz_powm, 1 thread', unit: 'tests', runs, run };
}

const MPZ_BYTES = 16;

/** The same tests by PARI/GP, one process a run, timed inside it. Undefined if there is no `gp`. */
export async function pariPower(base: bigint, count: number, runs: number): Promise<Candidate | undefined> {
  const execute = promisify(execFile);
  const version = await execute('gp', ['--version-short']).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
  if (version === undefined) return undefined;
  const program = [
    `v = vector(${count}, i, ${base} + 2 * i - 1);`,
    't = getwalltime();',
    'w = vector(#v, i, Mod(2, v[i])^(v[i] - 1) == 1);',
    't = getwalltime() - t;',
    'print(t, " ", strjoin(apply(x -> Str(x), w)));',
  ];
  const run = async () => {
    const child = execute('gp', ['--quiet', '--fast', '--default', 'nbthreads=1']);
    child.child.stdin?.end(`${program.join('\n')}\n`);
    const [milliseconds = '', bits = ''] = (await child).stdout.trim().split(' ');
    const passed = Uint32Array.from(bits, Number);
    return { seconds: Number(milliseconds) / 1000, work: passed.length, digest: digestOf(passed) };
  };
  return { name: `PARI/GP ${version}, 1 thread`, unit: 'tests', runs, run };
}

interface Gmp {
  set(to: Uint8Array, digits: string, base: number): number;
  power(to: Uint8Array, base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): void;
  compare(a: Uint8Array, b: number): number;
}

function load(): Gmp | undefined {
  for (const name of ['libgmp.so.10', 'libgmp.10.dylib', 'libgmp.so']) {
    try {
      // GMP starts no threads, so it can be unloaded at exit like any other library.
      const library = koffi().load(name);
      return {
        set: library.func('int __gmpz_init_set_str(void *to, const char *digits, int base)'),
        power: library.func('void __gmpz_powm(void *to, const void *base, const void *exponent, const void *modulus)'),
        compare: library.func('int __gmpz_cmp_ui(const void *a, unsigned long b)'),
      };
    } catch {
      // Tries the next name.
    }
  }
  return undefined;
}
