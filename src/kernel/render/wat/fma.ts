/**
 * a·b + c with one rounding, which Wasm has no instruction for. It is exact, including denormals, overflow and infinities.
 */
export const fmaHelpers: Readonly<Record<string, string>> = {
  // The product of two f32 is exact in f64. Its sum with c is rounded to odd in f64 (the last bit is 1 unless the sum is
  // exact). The second rounding is then correct, since f64 has over 2 bits more than f32.
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

  // Splits a finite number other than 0 into m 2^e with m in [2^52, 2^53): its m, and then its e.
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

  // In integers of 128 bits (high, low): the product shifted left by 20, c by 73, so that both have their top bit at 124 or
  // 125. The one with the lower exponent is shifted right; lost bits set the last bit. This is sound because near
  // cancellation the shift is below 20 and loses nothing.
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

  // (high, low) shifted right by any count; the last bit is set if a lost bit was.
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
};
