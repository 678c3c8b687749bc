import { bytesOf, type Scalar } from '../../language/types.js';
import type { WatBody } from './body.js';
import { watLiteral } from './scalar-forms.js';
import { lowWords } from './simd-forms.js';
import { laneText, type Operand } from './values.js';

/** The address of an access: elements of `type` from `start + offset` on, counted in accesses of `width` elements. */
export interface MemoryAccess {
  readonly type: Scalar;
  readonly start: string;
  readonly offset: number;
  readonly index: Operand;
  readonly base: Operand | undefined;
  /** Elements of one access: 1, or 4 for a quad. */
  readonly width: number;
  /** Text of the number of elements. */
  readonly length: string;
}

/** Returns the address of an access that is the same for all lanes. `once` is set if it is written only once. */
export function uniformAddress(body: WatBody, { type, start, index, base, width }: MemoryAccess, once = false): string {
  const stride = bytesOf[type] * width;
  const offset = scaled(index, stride);
  const whole = base ? `(i32.add ${offset} ${scaled(base, bytesOf[type] * 4)})` : offset;
  if (whole === '(i32.const 0)') return start;
  const address = `(i32.add ${start} ${whole})`;
  return once && width === 1 ? address : body.newVariable(address, 'i32');
}

/** Returns the addresses of all lanes; for lanes outside the mask, the start. */
export function laneAddresses(
  body: WatBody,
  access: MemoryAccess,
  mask: Operand | undefined,
): (lane: number) => string {
  const { index, base, start, width } = access;
  if (!index.varying && !base?.varying) {
    const address = uniformAddress(body, access);
    return () => address;
  }
  const size = bytesOf[access.type];
  const quads = base && wordsOf(body, base);
  const registers = body.inLanes(index).map((text, r) => {
    const own = `(i32x4.shl ${text} (i32.const ${Math.log2(size * width)}))`;
    const offset = quads ? `(i32x4.add ${own} (i32x4.shl ${quads[r]} (i32.const ${Math.log2(size * 4)})))` : own;
    const inMask = mask ? `(v128.and ${offset} ${body.inLanes(mask)[r]})` : offset;
    return body.newVariable(`(i32x4.add (i32x4.splat ${start}) ${inMask})`);
  });
  return (lane) => `(i32x4.extract_lane ${lane & 3} ${registers[lane >> 2]})`;
}

/** Checked builds: tests whether the access ends within its buffer. A base for which the index would wrap is outside. */
export function boundsCheck({ index, base, width, length }: MemoryAccess, lane: number, site: number): string {
  const at = `(i64.extend_i32_u ${laneText(index, lane)})`;
  const first = width === 1 ? at : `(i64.mul ${at} (i64.const ${width}))`;
  const quad = base && (base.node.type === 'u64' ? laneText(base, lane) : `(i64.extend_i32_u ${laneText(base, lane)})`);
  const element = quad
    ? `(select (i64.const -1) (i64.add (i64.shl ${quad} (i64.const 2)) ${first}) (i64.ne (i64.shr_u ${quad} (i64.const 60)) (i64.const 0)))`
    : first;
  return `(call $inside ${element} (i64.const ${width}) ${length} (local.get $control) (i32.const ${site}))`;
}

export const offset = (bytes: number): string => (bytes === 0 ? '' : `offset=${bytes} `);

/** Returns the immediate arguments of element k of an access. Words of the job are aligned as words only. */
export const immediates = (access: MemoryAccess, k: number): string =>
  `${offset(access.offset + k * bytesOf[access.type])}${access.start === '(local.get $params)' && bytesOf[access.type] === 8 ? 'align=4 ' : ''}`;

/** Returns a uniform index or base in bytes. */
export function scaled({ node, texts }: Operand, stride: number): string {
  if (node.op === 'const')
    return watLiteral('u32', Number(BigInt.asUintN(32, BigInt(node.detail.value as number) * BigInt(stride))));
  const word = node.type === 'u64' ? `(i32.wrap_i64 ${texts[0]})` : texts[0];
  return `(i32.shl ${word} (i32.const ${Math.log2(stride)}))`;
}

/** Returns a base in 32 bits, the width of addresses. If u64 are pairs, it is a word already. */
function wordsOf(body: WatBody, base: Operand): readonly string[] {
  if (base.node.type === 'u32') return body.inLanes(base);
  const { texts, varying } = base;
  return Array.from({ length: body.lanes / 4 }, (_, r) =>
    varying ? lowWords(texts[2 * r] ?? '', texts[2 * r + 1] ?? '') : `(i32x4.splat (i32.wrap_i64 ${texts[0]}))`,
  );
}
