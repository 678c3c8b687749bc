import { SUM_PARTIALS } from '../../ir/program.js';
import { fmaHelpers } from './fma.js';

/** Prints functions that generated text calls: operations that have no instruction in Wasm and are too long to inline. */
export function helperText(used: Iterable<string>): string[] {
  const printed = new Set<string>();
  const lines: string[] = [];
  const print = (name: string): void => {
    if (printed.has(name)) return;
    printed.add(name);
    const text = helpers[name];
    if (text === undefined) throw new TypeError(`no WAT function ${name}`);
    for (const other of calledIn(text)) print(other);
    lines.push(...text.trim().split('\n'));
  };
  for (const name of [...used].sort()) print(name);
  return lines;
}

/** Returns the functions that a text calls. */
export function calledIn(text: string): string[] {
  return text.includes('(call ') ? [...text.matchAll(/\(call \$(\w+)/g)].map(([, name = '']) => name) : [];
}

const unary = (name: string, type: string, body: string): string =>
  `(func $${name} (param $a ${type}) (result ${type})\n  ${body})`;
const binary = (name: string, type: string, body: string): string =>
  `(func $${name} (param $a ${type}) (param $b ${type}) (result ${type})\n  ${body})`;

/** x / 0 is x and x % 0 is 0, as for a division by 1. */
const unsignedDivision = (name: 'div' | 'rem', type: 'u32' | 'u64'): string => {
  const on = type === 'u64' ? 'i64' : 'i32';
  const zero = `(${on}.eqz (local.get $b))`;
  return binary(
    `${name}_${type}`,
    on,
    `(${on}.${name}_u (local.get $a) (select (${on}.const 1) (local.get $b) ${zero}))`,
  );
};

/**
 * A division by -1 is a negation, which wraps; the instruction would trap on the smallest number. One test detects -1 and 0.
 */
const signedDivision = (name: 'div' | 'rem', special: string): string =>
  binary(
    `${name}_i32`,
    'i32',
    `(if (result i32) (i32.le_u (i32.add (local.get $b) (i32.const 1)) (i32.const 1))
    (then ${special})
    (else (i32.${name}_s (local.get $a) (local.get $b))))`,
  );

/** Both operations return the previous value; the loop ends when no other thread has changed it. */
const atomicExtreme = (name: 'min' | 'max', on: 'i32' | 'i64'): string => `
(func $atomic_${name}${on === 'i64' ? '_u64' : ''} (param $at i32) (param $value ${on}) (result ${on})
  (local $seen ${on}) (local $now ${on})
  (local.set $seen (${on}.atomic.load (local.get $at)))
  (loop $again
    (if (${on}.${name === 'min' ? 'lt' : 'gt'}_u (local.get $value) (local.get $seen)) (then
      (local.set $now (${on}.atomic.rmw.cmpxchg (local.get $at) (local.get $seen) (local.get $value)))
      (if (${on}.ne (local.get $now) (local.get $seen)) (then
        (local.set $seen (local.get $now))
        (br $again))))))
  (local.get $seen))`;

/** Tiles: the upper half of the partials is added to the lower half until one is left. */
function sumOfPartials(type: 'i32' | 'i64' | 'f32' | 'f64'): string {
  const size = type.endsWith('32') ? 4 : 8;
  return `
(func $sum_${type} (param $partials i32) (result ${type})
  (local $half i32) (local $at i32)
  (local.set $half (i32.const ${(SUM_PARTIALS / 2) * size}))
  (loop $fold
    (local.set $at (i32.const 0))
    (loop $next
      (${type}.store
        (i32.add (local.get $partials) (local.get $at))
        (${type}.add
          (${type}.load (i32.add (local.get $partials) (local.get $at)))
          (${type}.load (i32.add (local.get $partials) (i32.add (local.get $at) (local.get $half))))))
      (local.set $at (i32.add (local.get $at) (i32.const ${size})))
      (br_if $next (i32.lt_u (local.get $at) (local.get $half))))
    (local.set $half (i32.shr_u (local.get $half) (i32.const 1)))
    (br_if $fold (i32.ge_u (local.get $half) (i32.const ${size}))))
  (${type}.load (local.get $partials)))`;
}

const helpers: Readonly<Record<string, string>> = {
  div_u32: unsignedDivision('div', 'u32'),
  rem_u32: unsignedDivision('rem', 'u32'),
  div_u64: unsignedDivision('div', 'u64'),
  rem_u64: unsignedDivision('rem', 'u64'),
  div_i32: signedDivision('div', '(select (i32.sub (i32.const 0) (local.get $a)) (local.get $a) (local.get $b))'),
  rem_i32: signedDivision('rem', '(i32.const 0)'),
  atomic_min: atomicExtreme('min', 'i32'),
  atomic_max: atomicExtreme('max', 'i32'),
  atomic_min_u64: atomicExtreme('min', 'i64'),
  atomic_max_u64: atomicExtreme('max', 'i64'),

  byteSwap_u64: unary(
    'byteSwap_u64',
    'i64',
    `(i64.or
    (i64.or
      (i64.and (i64.rotl (local.get $a) (i64.const 8)) (i64.const 0x000000ff000000ff))
      (i64.and (i64.rotl (local.get $a) (i64.const 24)) (i64.const 0x0000ff000000ff00)))
    (i64.or
      (i64.and (i64.rotr (local.get $a) (i64.const 24)) (i64.const 0x00ff000000ff0000))
      (i64.and (i64.rotr (local.get $a) (i64.const 8)) (i64.const 0xff000000ff000000))))`,
  ),

  mulHi_u64: `
(func $mulHi_u64 (param $a i64) (param $b i64) (result i64)
  ;; (a1 a0) (b1 b0) in halves: what a0 b0 and the mixed products carry into the upper word
  (local $a1 i64) (local $b1 i64) (local $middle i64)
  (local.set $a1 (i64.shr_u (local.get $a) (i64.const 32)))
  (local.set $b1 (i64.shr_u (local.get $b) (i64.const 32)))
  (local.set $a (i64.and (local.get $a) (i64.const 0xffffffff)))
  (local.set $b (i64.and (local.get $b) (i64.const 0xffffffff)))
  (local.set $middle (i64.add
    (i64.mul (local.get $a1) (local.get $b))
    (i64.shr_u (i64.mul (local.get $a) (local.get $b)) (i64.const 32))))
  (i64.add
    (i64.add (i64.mul (local.get $a1) (local.get $b1)) (i64.shr_u (local.get $middle) (i64.const 32)))
    (i64.shr_u
      (i64.add (i64.and (local.get $middle) (i64.const 0xffffffff)) (i64.mul (local.get $a) (local.get $b1)))
      (i64.const 32))))`,

  wmadHi_u64: `
(func $wmadHi_u64 (param $a i64) (param $b i64) (param $c i64) (param $d i64) (result i64)
  (local $low i64)
  (local.set $low (i64.add (i64.mul (local.get $a) (local.get $b)) (local.get $c)))
  (i64.add
    (call $mulHi_u64 (local.get $a) (local.get $b))
    (i64.add
      (i64.extend_i32_u (i64.lt_u (local.get $low) (local.get $c)))
      (i64.extend_i32_u (i64.lt_u (i64.add (local.get $low) (local.get $d)) (local.get $d))))))`,

  ...fmaHelpers,

  // Checked builds: tests whether the whole access is in bounds. Records the first that is not, with its index and the
  // length.
  inside: `
(func $inside (param $index i64) (param $width i64) (param $length i64) (param $control i32) (param $site i32) (result i32)
  (if (i64.le_u (local.get $width) (local.get $length)) (then
    (if (i64.le_u (local.get $index) (i64.sub (local.get $length) (local.get $width))) (then (return (i32.const 1))))))
  (if (i32.eqz (i32.atomic.rmw.cmpxchg offset=4 (local.get $control) (i32.const 0) (i32.const 1))) (then
    (i32.store offset=8 (local.get $control) (local.get $site))
    (i64.store offset=12 align=4 (local.get $control) (local.get $index))
    (i64.store offset=20 align=4 (local.get $control) (local.get $length))))
  (i32.const 0))`,

  // Tiles: replaces counts by their exclusive prefix sums; the result is the total.
  scan: `
(func $scan (param $at i32) (param $length i32) (result i32)
  (local $total i32) (local $count i32)
  (block $done (loop $next
    (br_if $done (i32.eqz (local.get $length)))
    (local.set $count (i32.load (local.get $at)))
    (i32.store (local.get $at) (local.get $total))
    (local.set $total (i32.add (local.get $total) (local.get $count)))
    (local.set $at (i32.add (local.get $at) (i32.const 4)))
    (local.set $length (i32.sub (local.get $length) (i32.const 1)))
    (br $next)))
  (local.get $total))`,
  ...Object.fromEntries((['i32', 'i64', 'f32', 'f64'] as const).map((type) => [`sum_${type}`, sumOfPartials(type)])),
};
