import type { Node } from '../ir.js';
import { isInteger, type Scalar, toWords, type Value } from '../types.js';

/** What the form of an operation is called: `add.u32`, `cast.u64.f32`. */
export function formName(node: Node): string {
  const type = node.op === 'select' ? node.type : (node.args[0]?.type ?? node.type);
  if (node.op === 'cast' || node.op === 'bits') return `${node.op}.${type}.${node.type}`;
  // Division by a number that is known and harmless needs no guard; engines multiply instead.
  return isGuarded(node) || !isInteger(type) || !isDivision(node) ? `${node.op}.${type}` : `${node.op}By.${type}`;
}

const isDivision = (node: Node): boolean => node.op === 'div' || node.op === 'rem';

function isGuarded(node: Node): boolean {
  const divisor = node.args[1];
  if (!isDivision(node) || divisor?.op !== 'const') return true;
  return Number(divisor.detail.value) === 0 || Number(divisor.detail.value) === -1;
}

export const wasmType = (type: Scalar): 'i32' | 'i64' | 'f32' | 'f64' =>
  type === 'u64' ? 'i64' : type === 'f32' || type === 'f64' ? type : 'i32';

/** A constant: integers in hexadecimal once they are large, floats by their exact bits where they have no plain form. */
export function watLiteral(type: Scalar, value: Value): string {
  return `(${wasmType(type)}.const ${literalDigits(type, value)})`;
}

export function literalDigits(type: Scalar, value: Value): string {
  switch (type) {
    case 'bool':
      return value ? '1' : '0';
    case 'i32':
      return String(value);
    case 'u32':
    case 'u64': {
      const big = BigInt(value as number);
      return big > 999n ? `0x${big.toString(16)}` : String(big);
    }
    case 'f32':
    case 'f64': {
      const x = Number(value);
      if (Number.isNaN(x)) return 'nan';
      if (!Number.isFinite(x)) return x < 0 ? '-inf' : 'inf';
      if (Object.is(x, -0)) return '-0';
      if (Number.isInteger(x) && Math.abs(x) < 2 ** 53) return String(x);
      const [low = 0, high = 0] = toWords('f64', x); // every f32 is an f64 too
      const exponent = (high >>> 20) & 0x7ff;
      const digits = (high & 0xfffff).toString(16).padStart(5, '0') + low.toString(16).padStart(8, '0');
      const text = exponent === 0 ? `0x0.${digits}p-1022` : `0x1.${digits}p${exponent - 1023}`;
      return high >>> 31 ? `-${text}` : text;
    }
  }
}

const wide = (x: string): string => `(i64.extend_i32_u ${x})`;
const upper = (x: string): string => `(i32.wrap_i64 (i64.shr_u ${x} (i64.const 32)))`;

function makeForms(): Record<string, string> {
  const forms: Record<string, string> = {};
  for (const type of ['u32', 'i32', 'u64'] as const) Object.assign(forms, integerForms(type));
  for (const type of ['f32', 'f64'] as const) Object.assign(forms, floatForms(type));
  return { ...forms, ...wordForms, ...doubleWordForms, ...boolForms, ...conversions() };
}

function integerForms(type: 'u32' | 'i32' | 'u64'): Record<string, string> {
  const on = wasmType(type);
  const sign = type === 'i32' ? 's' : 'u';
  const forms: Record<string, string> = {
    not: `(${on}.xor A (${on}.const -1))`,
    neg: `(${on}.sub (${on}.const 0) A)`,
    shl: `(${on}.shl A N)`,
    shr: `(${on}.shr_${sign} A N)`,
    rotl: `(${on}.rotl A N)`,
    rotr: `(${on}.rotr A N)`,
    div: `(call $div_${type} A B)`,
    rem: `(call $rem_${type} A B)`,
    divBy: `(${on}.div_${sign} A B)`,
    remBy: `(${on}.rem_${sign} A B)`,
    lt: `(${on}.lt_${sign} A B)`,
    le: `(${on}.le_${sign} A B)`,
    popcount: type === 'u64' ? '(i32.wrap_i64 (i64.popcnt A))' : '(i32.popcnt A)',
    clz: type === 'u64' ? '(i32.wrap_i64 (i64.clz A))' : '(i32.clz A)',
    select: '(select B C A)',
    bitSelect: `(${on}.xor C (${on}.and A (${on}.xor B C)))`,
  };
  for (const op of ['add', 'sub', 'mul', 'and', 'or', 'xor', 'eq', 'ne']) forms[op] = `(${on}.${op} A B)`;
  return named(type, forms);
}

function floatForms(type: 'f32' | 'f64'): Record<string, string> {
  const forms: Record<string, string> = {
    neg: `(${type}.neg A)`,
    sqrt: `(${type}.sqrt A)`,
    fma: `(call $fma_${type} A B C)`,
    select: '(select B C A)',
  };
  for (const op of ['add', 'sub', 'mul', 'div', 'eq', 'ne', 'lt', 'le']) forms[op] = `(${type}.${op} A B)`;
  return named(type, forms);
}

const wordForms: Readonly<Record<string, string>> = {
  'byteSwap.u32':
    '(i32.or (i32.and (i32.rotl A (i32.const 8)) (i32.const 0xff00ff)) (i32.and (i32.rotr A (i32.const 8)) (i32.const 0xff00ff00)))',
  'mulHi.u32': upper(`(i64.mul ${wide('A')} ${wide('B')})`),
  'wmadHi.u32': upper(`(i64.add (i64.add (i64.mul ${wide('A')} ${wide('B')}) ${wide('C')}) ${wide('D')})`),
  'carry.u32': upper(`(i64.add (i64.add ${wide('A')} ${wide('B')}) ${wide('C')})`),
  'borrow.u32': `(i64.lt_u ${wide('A')} (i64.add ${wide('B')} ${wide('C')}))`,
  'funnel.u32': `(i32.wrap_i64 (i64.shr_u (i64.or (i64.shl ${wide('A')} (i64.const 32)) ${wide('B')}) ${wide('(i32.and C (i32.const 31))')}))`,
  'pack.u32': `(i64.or (i64.shl ${wide('B')} (i64.const 32)) ${wide('A')})`,
};

const doubleWordForms: Readonly<Record<string, string>> = {
  'hi.u64': upper('A'),
  'byteSwap.u64': '(call $byteSwap_u64 A)',
  'mulHi.u64': '(call $mulHi_u64 A B)',
  'wmadHi.u64': '(call $wmadHi_u64 A B C D)',
  'carry.u64': wide('(i32.or (i64.lt_u (i64.add A B) A) (i64.lt_u (i64.add (i64.add A B) C) C))'),
  'borrow.u64': wide('(i32.or (i64.lt_u A B) (i64.lt_u (i64.sub A B) C))'),
};

/** A bool is 0 or 1. */
const boolForms: Readonly<Record<string, string>> = {
  'and.bool': '(i32.and A B)',
  'or.bool': '(i32.or A B)',
  'xor.bool': '(i32.xor A B)',
  'not.bool': '(i32.eqz A)',
  'eq.bool': '(i32.eq A B)',
  'ne.bool': '(i32.ne A B)',
  'any.bool': 'A',
  'select.bool': '(select B C A)',
};

function conversions(): Record<string, string> {
  const forms: Record<string, string> = {
    'cast.u32.i32': 'A',
    'cast.i32.u32': 'A',
    'cast.u32.u64': wide('A'),
    'cast.i32.u64': '(i64.extend_i32_s A)',
    'cast.u64.u32': '(i32.wrap_i64 A)',
    'cast.u64.i32': '(i32.wrap_i64 A)',
    'cast.bool.u32': 'A',
    'cast.bool.i32': 'A',
    'cast.bool.u64': wide('A'),
    'cast.f32.f64': '(f64.promote_f32 A)',
    'cast.f64.f32': '(f32.demote_f64 A)',
    'bits.u32.i32': 'A',
    'bits.i32.u32': 'A',
    'bits.u64.f64': '(f64.reinterpret_i64 A)',
    'bits.f64.u64': '(i64.reinterpret_f64 A)',
  };
  for (const type of ['u32', 'i32', 'u64'] as const) {
    const on = wasmType(type);
    const sign = type === 'i32' ? 's' : 'u';
    forms[`cast.${type}.bool`] = `(${on}.ne A (${on}.const 0))`;
    for (const float of ['f32', 'f64'] as const) {
      forms[`cast.${type}.${float}`] = `(${float}.convert_${on}_${sign} A)`;
      forms[`cast.${float}.${type}`] = `(${on}.trunc_sat_${float}_${sign} A)`;
    }
  }
  for (const float of ['f32', 'f64'] as const) {
    forms[`cast.${float}.bool`] = `(${float}.ne A (${float}.const 0))`;
    forms[`cast.bool.${float}`] = `(${float}.convert_i32_u A)`;
  }
  for (const type of ['u32', 'i32'] as const) {
    forms[`bits.${type}.f32`] = '(f32.reinterpret_i32 A)';
    forms[`bits.f32.${type}`] = '(i32.reinterpret_f32 A)';
  }
  return forms;
}

const named = (type: Scalar, forms: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(forms).map(([op, form]) => [`${op}.${type}`, form]));

/**
 * The table of WAT forms of operations on single values. `A` to `D` stand for the operands, `N` for a count of bits as
 * the instruction takes it. A form is an instruction, or a few, or a call of a function from `wat-helpers.ts`: V8 does
 * not inline those (Node 20), so only what is rare or long is one.
 */
export const scalarForms: Readonly<Record<string, string>> = makeForms();
