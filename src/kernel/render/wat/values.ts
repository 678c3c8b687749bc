import { formName, rowOf } from '../../ir/ops.js';
import type { Node } from '../../ir/program.js';
import { bytesOf, type Scalar, type Value } from '../../language/types.js';
import { literalDigits, scalarForm, watLiteral } from './scalar-forms.js';
import { gangForms, inLowerHalves, lowHalves, lowWords, shapeOf, shuffle } from './simd-forms.js';

/** A value in the text: one expression, or one per register of a gang's value. */
export interface Operand {
  readonly node: Node;
  readonly varying: boolean;
  readonly texts: readonly string[];
  /** True for a variable or a constant, which can be written again at no cost. */
  readonly isAtom: boolean;
}

/** The context that printed operations need. */
export interface OperationContext {
  readonly lanes: number;
  /** Assigns a value to a new variable. */
  toVariable(operand: Operand): Operand;
  /** Broadcasts a uniform value to all lanes of a register. */
  broadcast(operand: Operand): string;
}

const bits = (type: Scalar): 32 | 64 => (bytesOf[type] === 8 ? 64 : 32);

/** Returns the number of registers of a value: four 32-bit lanes or two 64-bit lanes each. */
export const registersOf = (type: Scalar, varying: boolean, lanes: number): number =>
  varying ? (lanes * bits(type)) / 128 : 1;

/** Returns the texts of an operation, one per register of its result. */
export function operationTexts(
  node: Node,
  operands: readonly Operand[],
  varying: boolean,
  context: OperationContext,
): string[] {
  if (node.op === 'any' && operands[0]?.varying) return [anyText(operands[0])];
  if (!varying) return [scalarText(node, operands, context)];
  // A gang's instructions require a count that is the same for all lanes.
  const count = operands[rowOf(node.op)?.count ?? operands.length];
  if (!gangForms[formName(node)] || count?.varying) return laneByLane(node, operands, context);
  return gangTexts(node, operands, count, context);
}

const anyText = ({ texts }: Operand): string =>
  `(v128.any_true ${texts.reduce((all, text) => `(v128.or ${all} ${text})`)})`;

function scalarText(node: Node, operands: readonly Operand[], context: OperationContext): string {
  const form = scalarForm(node);
  const args = operands.map((arg, i) => (countLetter(form, 'ABCD'[i] ?? '') > 1 ? atomic(arg, context) : arg));
  return fill(
    form,
    letters(
      node,
      args.map(({ texts }) => texts[0] ?? ''),
    ),
  );
}

/** Maps operands to their letters. A count beside a 64-bit value must be 64 bits wide. */
function letters(node: Node, texts: readonly string[]): Record<string, string> {
  const [A = '', B = '', C = '', D = ''] = texts;
  const count = node.args[1];
  const N =
    node.args[0]?.type !== 'u64'
      ? B
      : count?.op === 'const'
        ? watLiteral('u64', BigInt(count.detail.value as number))
        : `(i64.extend_i32_u ${B})`;
  return { A, B, C, D, N };
}

function gangTexts(
  node: Node,
  operands: readonly Operand[],
  counted: Operand | undefined,
  context: OperationContext,
): string[] {
  const name = formName(node);
  const form = gangForms[name] ?? '';
  const width = [node, ...node.args].some(({ type }) => bits(type) === 64) ? 64 : 32;
  const low = countLetter(form, 'L') > 0;
  const args = operands.map((arg, i) => {
    const repeated = countLetter(form, 'ABCD'[i] ?? '') > 1 || (arg.varying && bits(arg.node.type) < width) || low;
    return repeated ? atomic(arg, context) : arg;
  });
  const count = counted && (countLetter(form, 'M') > 0 ? atomic(counted, context) : counted).texts[0];
  const registers = Array.from({ length: (context.lanes * width) / 128 }, (_, r) => {
    const [A = '', B = '', C = '', D = ''] = args.map((arg) => register(arg, width, r, context));
    const N = count ?? '';
    const M = count === undefined ? '' : complement(node, counted, count);
    return fill(form, { A, B, C, D, N, M, L: low && args[0] ? lowerHalf(args[0], r, context) : '' });
  });
  if (bits(node.type) === width) return registers;
  const join = inLowerHalves.has(name) ? lowHalves : lowWords;
  return Array.from({ length: registers.length / 2 }, (_, r) =>
    join(registers[2 * r] ?? '', registers[2 * r + 1] ?? ''),
  );
}

/** Returns the width minus the count. Counts are taken modulo the width, so the negated count is enough. */
function complement(node: Node, counted: Operand | undefined, text: string): string {
  const known = counted?.node.op === 'const' ? Number(counted.node.detail.value) : undefined;
  return known === undefined
    ? `(i32.sub (i32.const 0) ${text})`
    : watLiteral('u32', (bits(node.type) - (known % bits(node.type))) % bits(node.type));
}

/** Returns register r of a value, with lanes of the given width. */
function register(operand: Operand, width: 32 | 64, r: number, context: OperationContext): string {
  if (!operand.varying) return context.broadcast(widened(operand, width));
  if (bits(operand.node.type) === width) return operand.texts[r] ?? '';
  const sign = operand.node.type === 'u32' ? 'u' : 's'; // a mask stays a mask
  return `(i64x2.extend_${r % 2 === 0 ? 'low' : 'high'}_i32x4_${sign} ${operand.texts[r >> 1]})`;
}

/** Widens a uniform value that is narrower than the form it is used in. */
function widened(operand: Operand, width: 32 | 64): Operand {
  const { type } = operand.node;
  if (bits(type) === width || type === 'f32') return operand;
  const node: Node = { ...operand.node, type: type === 'bool' ? 'bool' : 'u64' };
  if (type === 'bool') return operand; // a mask is all ones at any width
  if (node.op === 'const') {
    const value = BigInt.asUintN(64, BigInt(operand.node.detail.value as number));
    return { ...operand, node: { ...node, detail: { value } }, texts: [watLiteral('u64', value)] };
  }
  const text = `(i64.extend_i32_${type === 'u32' ? 'u' : 's'} ${operand.texts[0]})`;
  return { node: { ...node, op: 'local' }, varying: false, texts: [text], isAtom: operand.isAtom };
}

/** Moves the pair of 32-bit lanes that belongs to 64-bit register r to the lower half. */
function lowerHalf(operand: Operand, r: number, context: OperationContext): string {
  const whole = operand.varying ? (operand.texts[r >> 1] ?? '') : context.broadcast(operand);
  return r % 2 === 0 || !operand.varying ? whole : shuffle([2, 3, 2, 3], whole, whole);
}

function laneByLane(node: Node, operands: readonly Operand[], context: OperationContext): string[] {
  const form = scalarForm(node);
  const args = operands.map((arg) => atomic(arg, context));
  const lanes = Array.from({ length: context.lanes }, (_, lane) =>
    fill(
      form,
      letters(
        node,
        args.map((arg) => laneText(arg, lane)),
      ),
    ),
  );
  return joinLanes(node.type, lanes);
}

/** Returns one lane of a value as a scalar. */
export function laneText({ node, varying, texts }: Operand, lane: number): string {
  if (!varying) return texts[0] ?? '';
  const perRegister = 128 / bits(node.type);
  const text = `(${shapeOf(node.type)}.extract_lane ${lane % perRegister} ${texts[Math.floor(lane / perRegister)]})`;
  return node.type === 'bool' ? `(i32.and ${text} (i32.const 1))` : text;
}

/** Makes registers of scalars, one per lane. */
export function joinLanes(type: Scalar, lanes: readonly string[]): string[] {
  const perRegister = 128 / bits(type);
  const shape = shapeOf(type);
  const held = (text: string): string => (type === 'bool' ? `(i32.sub (i32.const 0) ${text})` : text);
  return Array.from({ length: lanes.length / perRegister }, (_, r) =>
    lanes
      .slice(r * perRegister, (r + 1) * perRegister)
      .reduce(
        (register, text, k) =>
          k === 0 ? `(${shape}.splat ${held(text)})` : `(${shape}.replace_lane ${k} ${register} ${held(text)})`,
        '',
      ),
  );
}

/** Broadcasts a scalar to every lane; a bool becomes a mask. */
export function splatText(type: Scalar, text: string): string {
  return type === 'bool' ? `(i32x4.splat (i32.sub (i32.const 0) ${text}))` : `(${shapeOf(type)}.splat ${text})`;
}

export function splatConstant(type: Scalar, value: Value): string {
  if (type === 'bool') return `(v128.const i32x4${(value ? ' -1' : ' 0').repeat(4)})`;
  return `(v128.const ${shapeOf(type)}${` ${literalDigits(type, value)}`.repeat(128 / bits(type))})`;
}

const atomic = (operand: Operand, context: OperationContext): Operand =>
  operand.isAtom ? operand : context.toVariable(operand);

const countLetter = (form: string, letter: string): number =>
  letter === '' ? 0 : (form.match(new RegExp(`\\b${letter}\\b`, 'g'))?.length ?? 0);

const fill = (form: string, by: Readonly<Record<string, string>>): string =>
  form.replace(/\b[A-DLMN]\b/g, (letter) => by[letter] ?? letter);
