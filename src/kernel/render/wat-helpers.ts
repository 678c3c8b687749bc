import { SUM_PARTIALS } from '../ir.js';

/**
 * Functions that generated text calls, printed where they are used: what has no instruction in Wasm and is too long to
 * stand in line.
 */
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

/** Functions that a text calls. */
export function calledIn(text: string): string[] {
  return text.includes('(call ') ? [...text.matchAll(/\(call \$(\w+)/g)].map(([, name = '']) => name) : [];
}

const unary = (name: string, type: string, body: string): string =>
  `(func $${name} (param $a ${type}) (result ${type})\n  ${body})`;
const binary = (name: string, type: string, body: string): string =>
  `(func $${name} (param $a ${type}) (param $b ${type}) (result ${type})\n  ${body})`;

/** x / 0 is x and x % 0 is 0: both are what division by 1 gives. */
const unsignedDivision = (name: 'div' | 'rem', type: 'u32' | 'u64'): string => {
  const on = type === 'u64' ? 'i64' : 'i32';
  const zero = `(${on}.eqz (local.get $b))`;
  return binary(
    `${name}_${type}`,
    on,
    `(${on}.${name}_u (local.get $a) (select (${on}.const 1) (local.get $b) ${zero}))`,
  );
};

/** By -1 it is a negation, which wraps; the instruction would trap on the least number. -1 and 0 are told by one test. */
const signedDivision = (name: 'div' | 'rem', special: string): string =>
  binary(
    `${name}_i32`,
    'i32',
    `(if (result i32) (i32.le_u (i32.add (local.get $b) (i32.const 1)) (i32.const 1))
    (then ${special})
    (else (i32.${name}_s (local.get $a) (local.get $b))))`,
  );

/** Both notes take the value before; the loop ends when nobody else has changed it. */
const atomicExtreme = (name: 'min' | 'max'): string => `
(func $atomic_${name} (param $at i32) (param $value i32) (result i32)
  (local $seen i32) (local $now i32)
  (local.set $seen (i32.atomic.load (local.get $at)))
  (loop $again
    (if (i32.${name === 'min' ? 'lt' : 'gt'}_u (local.get $value) (local.get $seen)) (then
      (local.set $now (i32.atomic.rmw.cmpxchg (local.get $at) (local.get $seen) (local.get $value)))
      (if (i32.ne (local.get $now) (local.get $seen)) (then
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
  atomic_min: atomicExtreme('min'),
  atomic_max: atomicExtreme('max'),

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

  // The product of two f32 is exact in f64. Its sum with c, rounded there to odd (the last bit is 1 unless the sum is
  // exact), keeps enough for the second rounding to be the right one: f64 has over 2 bits more than f32.
  fma_f32: `
(func $fma_f32 (param $a f32) (param $b f32) (param $c f32) (result f32)
  (local $p f64) (local $z f64) (local $sum f64) (local $part f64) (local $lost f64) (local $bits i64)
  (local.set $p (f64.mul (f64.promote_f32 (local.get $a)) (f64.promote_f32 (local.get $b))))
  (local.set $z (f64.promote_f32 (local.get $c)))
  (local.set $sum (f64.add (local.get $p) (local.get $z)))
  ;; what the addition lost, exactly
  (local.set $part (f64.sub (local.get $sum) (local.get $p)))
  (local.set $lost (f64.add
    (f64.sub (local.get $p) (f64.sub (local.get $sum) (local.get $part)))
    (f64.sub (local.get $z) (local.get $part))))
  (local.set $bits (i64.reinterpret_f64 (local.get $sum)))
  (if (i32.and
      (i32.and (f64.ne (local.get $lost) (f64.const 0)) (f64.lt (f64.abs (local.get $sum)) (f64.const inf)))
      (i64.eqz (i64.and (local.get $bits) (i64.const 1))))
    (then
      ;; away from zero where the lost part points there
      (local.set $sum (f64.reinterpret_i64 (i64.add (local.get $bits) (select (i64.const 1) (i64.const -1)
        (i32.eq (f64.gt (local.get $lost) (f64.const 0)) (f64.gt (local.get $sum) (f64.const 0)))))))))
  (f32.demote_f64 (local.get $sum)))`,

  // A finite number other than 0 as m 2^e with m in [2^52, 2^53): its m, and then its e.
  significand_f64: `
(func $significand_f64 (param $bits i64) (result i64)
  (local $m i64)
  (local.set $m (i64.and (local.get $bits) (i64.const 0xfffffffffffff)))
  (if (result i64) (i64.eqz (i64.and (local.get $bits) (i64.const 0x7ff0000000000000)))
    (then (i64.shl (local.get $m) (i64.sub (i64.clz (local.get $m)) (i64.const 11))))
    (else (i64.or (local.get $m) (i64.const 0x10000000000000)))))`,
  exponent_f64: `
(func $exponent_f64 (param $bits i64) (result i64)
  (local $e i64)
  (local.set $e (i64.and (i64.shr_u (local.get $bits) (i64.const 52)) (i64.const 0x7ff)))
  (if (result i64) (i64.eqz (local.get $e))
    (then (i64.sub (i64.const -1063) (i64.clz (i64.and (local.get $bits) (i64.const 0xfffffffffffff)))))
    (else (i64.sub (local.get $e) (i64.const 1075)))))`,

  // In integers of 128 bits (high, low): the product shifted left by 20, c by 73, so that both have their top bit at
  // 124 or 125. The one with the lower exponent is shifted right; bits lost are kept as a 1 in the last place, which is
  // sound because near cancellation the shift is below 20 and loses nothing.
  fma_f64: `
(func $fma_f64 (param $a f64) (param $b f64) (param $c f64) (result f64)
  (local $x i64) (local $y i64) (local $z i64) (local $e i64) (local $ez i64) (local $shift i64)
  (local $high i64) (local $low i64) (local $zhigh i64) (local $zlow i64) (local $sign i64) (local $t i64)
  (local.set $x (i64.reinterpret_f64 (local.get $a)))
  (local.set $y (i64.reinterpret_f64 (local.get $b)))
  (local.set $z (i64.reinterpret_f64 (local.get $c)))
  ;; an infinite c decides, whatever a finite product would round to
  (if (i32.and
      (f64.eq (f64.abs (local.get $c)) (f64.const inf))
      (i32.and (f64.lt (f64.abs (local.get $a)) (f64.const inf)) (f64.lt (f64.abs (local.get $b)) (f64.const inf))))
    (then (return (local.get $c))))
  ;; another infinity, a NaN or a factor of zero: no rounding is involved
  (if (i32.or
      (i32.or (f64.eq (local.get $a) (f64.const 0)) (f64.eq (local.get $b) (f64.const 0)))
      (i32.eqz (i32.and
        (f64.lt (f64.abs (local.get $c)) (f64.const inf))
        (i32.and (f64.lt (f64.abs (local.get $a)) (f64.const inf)) (f64.lt (f64.abs (local.get $b)) (f64.const inf))))))
    (then (return (f64.add (f64.mul (local.get $a) (local.get $b)) (local.get $c)))))
  ;; the product alone is rounded once, and keeps its sign where it vanishes
  (if (f64.eq (local.get $c) (f64.const 0)) (then (return (f64.mul (local.get $a) (local.get $b)))))
  (local.set $sign (i64.and (i64.xor (local.get $x) (local.get $y)) (i64.const 0x8000000000000000)))
  (local.set $e (i64.sub
    (i64.add (call $exponent_f64 (local.get $x)) (call $exponent_f64 (local.get $y)))
    (i64.const 20)))
  (local.set $ez (i64.sub (call $exponent_f64 (local.get $z)) (i64.const 73)))
  (local.set $x (i64.shl (call $significand_f64 (local.get $x)) (i64.const 10)))
  (local.set $y (i64.shl (call $significand_f64 (local.get $y)) (i64.const 10)))
  (local.set $high (call $mulHi_u64 (local.get $x) (local.get $y)))
  (local.set $low (i64.mul (local.get $x) (local.get $y)))
  (local.set $zhigh (i64.shl (call $significand_f64 (local.get $z)) (i64.const 9)))
  (local.set $shift (i64.sub (local.get $e) (local.get $ez)))
  (if (i64.ge_s (local.get $shift) (i64.const 0))
    (then
      (local.set $zlow (call $shiftedLow (local.get $zhigh) (i64.const 0) (local.get $shift)))
      (local.set $zhigh (call $shiftedHigh (local.get $zhigh) (local.get $shift))))
    (else
      (local.set $shift (i64.sub (i64.const 0) (local.get $shift)))
      (local.set $e (local.get $ez))
      (local.set $low (call $shiftedLow (local.get $high) (local.get $low) (local.get $shift)))
      (local.set $high (call $shiftedHigh (local.get $high) (local.get $shift)))))
  (if (i64.eq (i64.and (local.get $z) (i64.const 0x8000000000000000)) (local.get $sign))
    (then
      (local.set $low (i64.add (local.get $low) (local.get $zlow)))
      (local.set $high (i64.add
        (i64.add (local.get $high) (local.get $zhigh))
        (i64.extend_i32_u (i64.lt_u (local.get $low) (local.get $zlow))))))
    (else
      (local.set $t (i64.extend_i32_u (i64.lt_u (local.get $low) (local.get $zlow))))
      (local.set $low (i64.sub (local.get $low) (local.get $zlow)))
      (local.set $high (i64.sub (i64.sub (local.get $high) (local.get $zhigh)) (local.get $t)))
      (if (i64.lt_s (local.get $high) (i64.const 0)) (then
        (local.set $sign (i64.xor (local.get $sign) (i64.const 0x8000000000000000)))
        (local.set $low (i64.sub (i64.const 0) (local.get $low)))
        (local.set $high (i64.sub
          (i64.sub (i64.const 0) (local.get $high))
          (i64.extend_i32_u (i64.ne (local.get $low) (i64.const 0)))))))))
  (if (i64.eqz (i64.or (local.get $high) (local.get $low))) (then (return (f64.const 0))))
  ;; the top bit to place 127
  (if (i64.eqz (local.get $high)) (then
    (local.set $high (local.get $low))
    (local.set $low (i64.const 0))
    (local.set $e (i64.sub (local.get $e) (i64.const 64)))))
  (local.set $shift (i64.clz (local.get $high)))
  (if (i64.ne (local.get $shift) (i64.const 0)) (then
    (local.set $high (i64.or
      (i64.shl (local.get $high) (local.get $shift))
      (i64.shr_u (local.get $low) (i64.sub (i64.const 64) (local.get $shift)))))
    (local.set $low (i64.shl (local.get $low) (local.get $shift)))
    (local.set $e (i64.sub (local.get $e) (local.get $shift)))))
  (local.set $high (i64.or (local.get $high) (i64.extend_i32_u (i64.ne (local.get $low) (i64.const 0)))))
  ;; the exponent field; a denormal has 0 there and fewer bits
  (local.set $e (i64.add (local.get $e) (i64.const 1150)))
  (if (i64.gt_s (local.get $e) (i64.const 2046))
    (then (return (f64.reinterpret_i64 (i64.or (local.get $sign) (i64.const 0x7ff0000000000000))))))
  (if (i64.lt_s (local.get $e) (i64.const 1)) (then
    (local.set $shift (i64.sub (i64.const 1) (local.get $e)))
    (local.set $e (i64.const 1))
    (local.set $high (call $shiftedLow (i64.const 0) (local.get $high) (local.get $shift)))))
  ;; to nearest, ties to even; a carry out of the significand goes to the exponent, as it should
  (local.set $t (i64.and (local.get $high) (i64.const 0x7ff)))
  (local.set $high (i64.shr_u (local.get $high) (i64.const 11)))
  (local.set $t (i64.extend_i32_u (i64.gt_u
    (i64.or (local.get $t) (i64.and (local.get $high) (i64.const 1)))
    (i64.const 0x400))))
  (f64.reinterpret_i64 (i64.or (local.get $sign) (i64.add
    (i64.add (i64.shl (i64.sub (local.get $e) (i64.const 1)) (i64.const 52)) (local.get $high))
    (local.get $t)))))`,

  // (high, low) shifted right by any count; the last bit says whether something was lost.
  shiftedHigh: `
(func $shiftedHigh (param $high i64) (param $count i64) (result i64)
  (select (i64.shr_u (local.get $high) (local.get $count)) (i64.const 0) (i64.lt_u (local.get $count) (i64.const 64))))`,
  shiftedLow: `
(func $shiftedLow (param $high i64) (param $low i64) (param $count i64) (result i64)
  (local $lost i64)
  (if (i64.eqz (local.get $count)) (then (return (local.get $low))))
  (if (i64.gt_u (local.get $count) (i64.const 127))
    (then (return (i64.extend_i32_u (i64.ne (i64.or (local.get $high) (local.get $low)) (i64.const 0))))))
  (if (i64.ge_u (local.get $count) (i64.const 64)) (then
    (local.set $lost (local.get $low))
    (local.set $low (local.get $high))
    (local.set $high (i64.const 0))
    (local.set $count (i64.sub (local.get $count) (i64.const 64)))))
  (if (i64.ne (local.get $count) (i64.const 0)) (then
    (local.set $lost (i64.or (local.get $lost) (i64.shl (local.get $low) (i64.sub (i64.const 64) (local.get $count)))))
    (local.set $low (i64.or
      (i64.shr_u (local.get $low) (local.get $count))
      (i64.shl (local.get $high) (i64.sub (i64.const 64) (local.get $count)))))))
  (i64.or (local.get $low) (i64.extend_i32_u (i64.ne (local.get $lost) (i64.const 0)))))`,

  // Checked builds: is the whole access inside? The first that is not is noted, with its place and the length.
  inside: `
(func $inside (param $index i64) (param $width i64) (param $length i64) (param $control i32) (param $site i32) (result i32)
  (if (i64.le_u (local.get $width) (local.get $length)) (then
    (if (i64.le_u (local.get $index) (i64.sub (local.get $length) (local.get $width))) (then (return (i32.const 1))))))
  (if (i32.eqz (i32.atomic.rmw.cmpxchg offset=4 (local.get $control) (i32.const 0) (i32.const 1))) (then
    (i32.store offset=8 (local.get $control) (local.get $site))
    (i64.store offset=12 align=4 (local.get $control) (local.get $index))
    (i64.store offset=20 align=4 (local.get $control) (local.get $length))))
  (i32.const 0))`,

  // Tiles: counts become the sums before them; the result is the total.
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
