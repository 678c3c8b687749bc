import { formName, operandType, rowOf, typeSets } from '../../ir/ops.js';
import type { Node } from '../../ir/program.js';
import { isInteger, type Scalar, toWords, type Value } from '../../language/types.js';
import { named } from './simd-forms.js';

/**
 * Returns the WAT form of an operation, with `A` to `D` for operands and `N` for a bit count as the instruction takes it.
 */
export function scalarForm(node: Node): string {
  const type = operandType(node);
  const on = wasmType(type);
  // Division by a constant other than 0 and -1 needs no guard; engines multiply instead.
  if (isInteger(type) && isHarmlessDivision(node)) return `(${on}.${node.op}_${type === 'i32' ? 's' : 'u'} A B)`;
  const form = scalarForms[formName(node)];
  if (form !== undefined) return form;
  if (!instructions.has(node.op)) throw new TypeError(`no WAT form for ${formName(node)}`);
  return node.args.length === 1 ? `(${on}.${node.op} A)` : `(${on}.${node.op} A B)`;
}

/** Operations that are a Wasm instruction with the same name, on types that have no form below. */
const instructions: ReadonlySet<string> = new Set(
  'add sub mul div neg abs sqrt floor ceil trunc and or xor eq ne lt le'.split(' '),
);

function isHarmlessDivision({ op, args }: Node): boolean {
  const divisor = args[1];
  if (rowOf(op)?.class !== 'divisions' || divisor?.op !== 'const') return false;
  return Number(divisor.detail.value) !== 0 && Number(divisor.detail.value) !== -1;
}

export const wasmType = (type: Scalar): 'i32' | 'i64' | 'f32' | 'f64' =>
  type === 'u64' ? 'i64' : type === 'f32' || type === 'f64' ? type : 'i32';

/** Returns a constant: large integers in hexadecimal, floats that have no plain form by their exact bits. */
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
      const [low = 0, high = 0] = toWords('f64', x); // every f32 is also an f64
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
  const forms: Record<string, string> = { ...words(), ...doubleWords(), not_bool: '(i32.eqz A)', any_bool: 'A' };
  for (const type of typeSets.integer) Object.assign(forms, integerForms(type));
  for (const type of typeSets.float) {
    forms[`fma_${type}`] = `(call $fma_${type} A B C)`;
    forms[`round_${type}`] = `(${type}.nearest A)`;
  }
  for (const type of typeSets.any) forms[`select_${type}`] = '(select B C A)';
  return { ...forms, ...conversions() };
}

function integerForms(type: 'u32' | 'i32' | 'u64'): Record<string, string> {
  const on = wasmType(type);
  const sign = type === 'i32' ? 's' : 'u';
  return named(type, {
    not: `(${on}.xor A (${on}.const -1))`,
    neg: `(${on}.sub (${on}.const 0) A)`,
    shl: `(${on}.shl A N)`,
    shr: `(${on}.shr_${sign} A N)`,
    rotl: `(${on}.rotl A N)`,
    rotr: `(${on}.rotr A N)`,
    div: `(call $div_${type} A B)`,
    rem: `(call $rem_${type} A B)`,
    lt: `(${on}.lt_${sign} A B)`,
    le: `(${on}.le_${sign} A B)`,
    popcount: type === 'u64' ? '(i32.wrap_i64 (i64.popcnt A))' : '(i32.popcnt A)',
    clz: type === 'u64' ? '(i32.wrap_i64 (i64.clz A))' : '(i32.clz A)',
    ctz: type === 'u64' ? '(i32.wrap_i64 (i64.ctz A))' : '(i32.ctz A)',
    bitSelect: `(${on}.xor C (${on}.and A (${on}.xor B C)))`,
  });
}

const words = (): Record<string, string> => ({
  abs_i32: '(select (i32.sub (i32.const 0) A) A (i32.lt_s A (i32.const 0)))',
  byteSwap_u32:
    '(i32.or (i32.and (i32.rotl A (i32.const 8)) (i32.const 0xff00ff)) (i32.and (i32.rotr A (i32.const 8)) (i32.const 0xff00ff00)))',
  mulHi_u32: upper(`(i64.mul ${wide('A')} ${wide('B')})`),
  wmadHi_u32: upper(`(i64.add (i64.add (i64.mul ${wide('A')} ${wide('B')}) ${wide('C')}) ${wide('D')})`),
  carry_u32: upper(`(i64.add (i64.add ${wide('A')} ${wide('B')}) ${wide('C')})`),
  borrow_u32: `(i64.lt_u ${wide('A')} (i64.add ${wide('B')} ${wide('C')}))`,
  funnel_u32: `(i32.wrap_i64 (i64.shr_u (i64.or (i64.shl ${wide('A')} (i64.const 32)) ${wide('B')}) ${wide('(i32.and C (i32.const 31))')}))`,
  pack_u32: `(i64.or (i64.shl ${wide('B')} (i64.const 32)) ${wide('A')})`,
});

const doubleWords = (): Record<string, string> => ({
  hi_u64: upper('A'),
  byteSwap_u64: '(call $byteSwap_u64 A)',
  mulHi_u64: '(call $mulHi_u64 A B)',
  wmadHi_u64: '(call $wmadHi_u64 A B C D)',
  carry_u64: wide('(i32.or (i64.lt_u (i64.add A B) A) (i64.lt_u (i64.add (i64.add A B) C) C))'),
  borrow_u64: wide('(i32.or (i64.lt_u A B) (i64.lt_u (i64.sub A B) C))'),
});

function conversions(): Record<string, string> {
  const forms: Record<string, string> = {
    cast_u32_i32: 'A',
    cast_i32_u32: 'A',
    cast_u32_u64: wide('A'),
    cast_i32_u64: '(i64.extend_i32_s A)',
    cast_u64_u32: '(i32.wrap_i64 A)',
    cast_u64_i32: '(i32.wrap_i64 A)',
    cast_bool_u32: 'A',
    cast_bool_i32: 'A',
    cast_bool_u64: wide('A'),
    cast_f32_f64: '(f64.promote_f32 A)',
    cast_f64_f32: '(f32.demote_f64 A)',
    bits_u32_i32: 'A',
    bits_i32_u32: 'A',
    bits_u64_f64: '(f64.reinterpret_i64 A)',
    bits_f64_u64: '(i64.reinterpret_f64 A)',
  };
  for (const type of typeSets.integer) {
    const on = wasmType(type);
    const sign = type === 'i32' ? 's' : 'u';
    forms[`cast_${type}_bool`] = `(${on}.ne A (${on}.const 0))`;
    for (const float of typeSets.float) {
      forms[`cast_${type}_${float}`] = `(${float}.convert_${on}_${sign} A)`;
      forms[`cast_${float}_${type}`] = `(${on}.trunc_sat_${float}_${sign} A)`;
    }
  }
  for (const float of typeSets.float) {
    forms[`cast_${float}_bool`] = `(${float}.ne A (${float}.const 0))`;
    forms[`cast_bool_${float}`] = `(${float}.convert_i32_u A)`;
  }
  for (const type of ['u32', 'i32'] as const) {
    forms[`bits_${type}_f32`] = '(f32.reinterpret_i32 A)';
    forms[`bits_f32_${type}`] = '(i32.reinterpret_f32 A)';
  }
  return forms;
}

/**
 * Forms of scalar operations that are not one Wasm instruction with the operation's name: a few instructions, or a call of a
 * function from `helpers.ts`. V8 does not inline these calls (Node 20), so only rare or long operations use them.
 */
const scalarForms: Readonly<Record<string, string>> = makeForms();

export const get = (name: string): string => `(local.get ${name})`;
