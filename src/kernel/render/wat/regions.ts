import { type Node, type Statement, SUM_PARTIALS } from '../../ir/program.js';
import { bytesOf } from '../../language/types.js';
import { bufferName } from '../names.js';
import type { WatBody } from './body.js';
import { get, wasmType } from './scalar-forms.js';
import { shapeOf } from './simd-forms.js';

type RegionStatement = Extract<Statement, { kind: 'each' | 'sum' | 'scan' | 'once' }>;

/** The address of a thread's partials of a tile's sums, in `$near` memory. */
export const PARTIALS = '$partials';

/** Prints regions of a tile. One thread processes the whole tile, so a region is a loop by gangs and needs no barrier. */
export function printRegion(body: WatBody, statement: RegionStatement): void {
  switch (statement.kind) {
    case 'each': {
      const count = countText(body, statement.count);
      laneLoop(body, '(i64.const 0)', count, body.lanes, body.define(statement.index), () =>
        body.block(statement.body),
      );
      return;
    }
    case 'sum':
      printSum(body, statement);
      return;
    case 'once':
      body.block(statement.body);
      return;
    case 'scan': {
      const [total = ''] = body.define(statement.result);
      body.set(total, `(call $scan ${get(`$${bufferName(statement.near)}`)} (i32.const ${statement.length}))`);
    }
  }
}

/**
 * Prints a loop over [from, to) by gangs. Inside, `index` holds each lane's number, `$whole` is true if all lanes are
 * below `to`, and `$active` is the mask of those that are. `inner` gets the name of the loop's variable.
 */
export function laneLoop(
  body: WatBody,
  from: string,
  to: string,
  lanes: number,
  index: readonly string[],
  inner: (first: string) => void,
): void {
  const { first, number } = body.counter();
  body.set(first, from);
  body.nest(
    `(block $end${number} (loop $next${number}`,
    () => {
      body.line(`(br_if $end${number} (i64.ge_u ${get(first)} ${to}))`);
      if (lanes === 1) body.set(index[0] ?? '', `(i32.wrap_i64 ${get(first)})`);
      else setLanes(body, first, to, index);
      inner(first);
      body.set(first, `(i64.add ${get(first)} (i64.const ${lanes}))`);
      body.line(`(br $next${number})`);
    },
    '))',
  );
}

function setLanes(body: WatBody, first: string, to: string, index: readonly string[]): void {
  const left = `(i64.sub ${to} ${get(first)})`;
  const whole = body.local('$whole', 'i32');
  const numbers = (r: number): string => `(v128.const i32x4 ${[0, 1, 2, 3].map((k) => 4 * r + k).join(' ')})`;
  for (const [r, name] of index.entries())
    body.set(name, `(i32x4.add (i32x4.splat (i32.wrap_i64 ${get(first)})) ${numbers(r)})`);
  body.set(whole, `(i64.ge_u ${left} (i64.const ${body.lanes}))`);
  const here = `(select (i32.const ${body.lanes}) (i32.wrap_i64 ${left}) ${get(whole)})`;
  for (const [r, name] of body.registers('$active', 'bool', true).entries())
    body.set(name, `(i32x4.lt_u ${numbers(r)} (i32x4.splat ${here}))`);
}

/**
 * Adds element i to partial i mod 256. A gang's lanes are consecutive, so they are added to registers of partials directly.
 */
function printSum(body: WatBody, statement: Extract<RegionStatement, { kind: 'sum' }>): void {
  const { type } = statement.result;
  const size = bytesOf[type];
  const count = countText(body, statement.count);
  const partials = get(body.local(PARTIALS, 'i32'));
  body.line(`(memory.fill ${partials} (i32.const 0) (i32.const ${SUM_PARTIALS * size}))`);
  laneLoop(body, '(i64.const 0)', count, body.lanes, body.define(statement.index), (first) => {
    body.block(statement.body);
    const value = body.operand(statement.value);
    const place = `(i32.mul (i32.and (i32.wrap_i64 ${get(first)}) (i32.const ${SUM_PARTIALS - 1})) (i32.const ${size}))`;
    const at = body.newVariable(`(i32.add ${partials} ${place})`, 'i32');
    if (body.lanes === 1) {
      const on = wasmType(type);
      body.line(`(${on}.store ${at} (${on}.add (${on}.load ${at}) ${value.texts[0]}))`);
      return;
    }
    const terms = body.inLanes(value);
    const masks = body.laneMasks(body.registers('$active', 'bool', true).map(get), terms.length);
    for (const [r, term] of terms.entries()) {
      const immediate = r === 0 ? '' : `offset=${16 * r} `;
      const here = `(v128.and ${term} ${masks[r]})`; // a masked term is +0, which changes no sum
      body.line(`(v128.store ${immediate}${at} (${shapeOf(type)}.add (v128.load ${immediate}${at}) ${here}))`);
    }
  });
  const [result = ''] = body.define(statement.result);
  body.set(result, `(call $sum_${wasmType(type)} ${partials})`);
}

/** Returns a u32 as the loop's 64-bit bound. */
function countText(body: WatBody, count: Node): string {
  return `(i64.extend_i32_u ${body.toAtom(body.operand(count)).texts[0]})`;
}
