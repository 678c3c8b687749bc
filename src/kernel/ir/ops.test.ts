import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { plainCpu } from '../abi/cpu.js';
import { lower } from '../abi/lower.js';
import { lowerGpu } from '../abi/lower-gpu.js';
import { type BufferSpec, read, rw } from '../language/buffers.js';
import { type Expr, make } from '../language/expr.js';
import { items } from '../language/items.js';
import type { Kernel } from '../language/signature.js';
import { literal, type Scalar, type Value, wrap } from '../language/types.js';
import { evaluate } from './evaluate.js';
import { type Operation, ops, type PureOp, typeSets } from './ops.js';
import type { Node } from './program.js';

/** One operation on one type: operands and result. */
interface Form {
  readonly name: string;
  readonly op: PureOp;
  readonly args: readonly Scalar[];
  readonly result: Scalar;
}

const isWide = (type: Scalar): boolean => type === 'u64' || type === 'f64';
/** Look-ups are left out: they need a table. */
const forms = (Object.entries(ops) as [PureOp, Operation][]).flatMap(([op, row]) =>
  typeSets[row.on].flatMap((on): Form[] => {
    const args = row.args.map((type) => (type === 'T' ? on : type));
    const others = typeSets.any.filter(
      (to) => to !== on && (op === 'cast' || (to !== 'bool' && isWide(to) === isWide(on))),
    );
    const results = row.result === 'own' ? others : [row.result === 'T' ? on : row.result];
    if (op === 'lookup') return [];
    return results.map((result) => ({ name: `${op}(${args.join(', ')}) -> ${result}`, op, args, result }));
  }),
);
const values: Readonly<Record<Scalar, readonly Value[]>> = {
  u32: [0, 1, 7, 0x8000_0000, 0xffff_ffff, 0x1234_5678],
  i32: [0, 1, -1, 7, -0x8000_0000, 0x1234_5678],
  u64: [0n, 1n, 7n, 1n << 63n, (1n << 64n) - 1n, 0x1234_5678_9abc_def0n],
  f32: [0, -0, 1, -1.5, Number.POSITIVE_INFINITY],
  f64: [0, -0, 1, -1.5, Number.POSITIVE_INFINITY],
  bool: [false, true],
};

const truth = 0b1110_1000;
const nodeOf = ({ op, args, result }: Form): Node =>
  ({ op, type: result, args: args.map((type) => ({ type })), detail: { truth } }) as unknown as Node;

describe('the table of operations', () => {
  it.each(forms)('evaluates $name', (form) => {
    for (let k = 0; k < 6; k++) {
      const given = form.args.map((type, i) => values[type][(k + i) % values[type].length] as Value);
      const result = evaluate(nodeOf(form), given);
      expect(literal(form.result, result)).toEqual(result);
    }
  });

  it('has correct algebraic properties', () => {
    const constant = (type: Scalar, x: number): Value => (type === 'bool' ? x !== 0 : wrap(type as 'u32', BigInt(x)));
    for (const form of forms) {
      const { commutes, identity, absorbing, same, isInvolution } = ops[form.op];
      const [type] = form.args as [Scalar];
      const isExact = type !== 'f32' && type !== 'f64';
      const of = (...args: Value[]) => evaluate(nodeOf(form), args);
      for (const x of values[type]) {
        if (commutes) for (const y of values[type]) expect([form.name, of(x, y)]).toEqual([form.name, of(y, x)]);
        if (!isExact) continue;
        if (identity !== undefined) expect([form.name, of(x, constant(type, identity))]).toEqual([form.name, x]);
        if (absorbing !== undefined) {
          expect([form.name, of(x, constant(type, absorbing))]).toEqual([form.name, constant(type, absorbing)]);
        }
        if (same !== undefined) {
          expect([form.name, of(x, x)]).toEqual([form.name, same === 'x' ? x : constant(form.result, same)]);
        }
        if (isInvolution) expect([form.name, of(of(x))]).toEqual([form.name, x]);
      }
    }
  });

  const base = { hoist: true, checked: false, cpu: plainCpu, nativeBodies: false };
  const targets: readonly { name: string; lacks?: (form: Form) => boolean; print(kernel: Kernel): unknown }[] = [
    { name: 'C, one lane', print: (kernel) => lower(kernel, { ...base, target: 'c', lanes: 1 }) },
    { name: 'C, a gang', print: (kernel) => lower(kernel, { ...base, target: 'c', lanes: 4 }) },
    { name: 'WAT, one lane', lacks: isLogic3, print: (kernel) => lower(kernel, { ...base, target: 'wat', lanes: 1 }) },
    { name: 'WAT, a gang', lacks: isLogic3, print: (kernel) => lower(kernel, { ...base, target: 'wat', lanes: 4 }) },
    { name: 'CUDA', print: (kernel) => lowerGpu(kernel, { target: 'cuda' }) },
    { name: 'OpenCL', print: (kernel) => lowerGpu(kernel, { target: 'opencl' }) },
    { name: 'WGSL', lacks: usesDoubles, print: (kernel) => lowerGpu(kernel, { target: 'wgsl' }) },
  ];

  it.each(targets)('prints as $name', ({ lacks = () => false, print }) => {
    // `any` is only used in gangs, where lanes diverge.
    for (const form of forms) if (form.op !== 'any' && !lacks(form)) print(kernelOf(form));
  });
});

/** No pass makes three-input logic for WAT. */
function isLogic3({ op }: Form): boolean {
  return op === 'logic3';
}
function usesDoubles({ args, result }: Form): boolean {
  return [...args, result].includes('f64');
}

/** A kernel that does one operation on operands from memory. */
function kernelOf({ op, args, result }: Form): Kernel {
  const inMemory = (type: Scalar) => (type === 'bool' ? 'u32' : type);
  const buffers: Record<string, BufferSpec> = { out: rw(inMemory(result)) };
  args.forEach((type, i) => {
    buffers[`in${i}`] = read(inMemory(type));
  });
  return items('operation', { buffers }, ({ item, buffers: given }) => {
    const memory = given as unknown as Record<string, { at(i: Expr<'u32'>): Expr<'u32'>; set(...of: unknown[]): void }>;
    const operands = args.map((type, i) => {
      const value = memory[`in${i}`]!.at(item);
      return type === 'bool' ? value.ne(0) : value;
    });
    const made = make(result, op, operands, { truth });
    memory.out!.set(item, result === 'bool' ? made.to('u32') : made);
  }) as unknown as Kernel;
}

describe('docs/language.md', () => {
  const written: Partial<Record<PureOp, string>> = {
    pack: 'u64Of',
    cast: 'to',
    wmadHi: 'wmad',
    carry: 'addChain',
    borrow: 'subChain',
  };
  const internal: readonly PureOp[] = ['logic3', 'any', 'lookup'];
  const labels: Readonly<Record<keyof typeof typeSets, string>> = {
    any: 'all types',
    numeric: 'numbers',
    integer: 'integers',
    unsigned: 'u32, u64',
    signed: 'i32, i64, floats',
    float: 'floats',
    bitwise: 'integers, bool',
    u32: 'u32',
    u64: 'u64',
    bool: 'bool',
  };
  const made = { numbers: 'gt ge min max clamp', u32: 'byte', u64: 'lo', floats: 'mix' };

  it('lists the operations of the table by operand type', () => {
    const expected = new Map<string, Set<string>>();
    const add = (label: string, name: string) => expected.set(label, (expected.get(label) ?? new Set()).add(name));
    for (const [op, { on }] of Object.entries(ops) as [PureOp, Operation][]) {
      if (!internal.includes(op)) add(labels[on], written[op] ?? op);
    }
    for (const [label, names] of Object.entries(made)) for (const name of names.split(' ')) add(label, name);

    const text = readFileSync(new URL('../../../docs/language.md', import.meta.url), 'utf8');
    const table = /\| on \| operations \|\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(text)?.[1] ?? '';
    const listed = table
      .trim()
      .split('\n')
      .map((line): [string, Set<string>] => {
        const [, label = '', cell = ''] = line.split('|').map((part) => part.trim());
        const names = [...cell.matchAll(/`([^`]*)`/g)].flatMap(([, code = '']) =>
          code.replaceAll(/\([^)]*\)/g, '').split(' '),
        );
        return [label, new Set(names)];
      });
    expect(new Map(listed)).toEqual(expected);
  });
});
