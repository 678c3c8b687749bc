import { describe, expect, test } from 'vitest';
import { plainCpu } from '../abi/cpu.js';
import { kernelText, lower } from '../abi/lower.js';
import type { KernelLimits } from '../ir/limits.js';
import { functionsOf, type Node, type Statement } from '../ir/program.js';
import type { RecordedFunction, Recording, TraceEvent } from '../ir/recording.js';
import { read, rw } from '../language/buffers.js';
import { cell, loop, table, when } from '../language/control.js';
import type { Expr } from '../language/expr.js';
import { fn } from '../language/functions/fn.js';
import { items } from '../language/items.js';
import { Origin } from '../language/origin.js';
import type { Kernel } from '../language/signature.js';
import { std } from '../language/std-function.js';
import { tiles } from '../language/tiles.js';
import { f32, type Scalar, type Type, u32, u64 } from '../language/types.js';
import { canInlineAll } from '../passes/shape/inline.js';
import { encodeRecording } from './encode.js';
import { decodeKernel, encodeKernel } from './index.js';

const doubled = items(
  'doubled',
  { job: { by: u32 }, buffers: { a: read(u32), out: rw(u32) } },
  ({ item, job, buffers }) => buffers.out.set(item, buffers.a.at(item).mul(job.by)),
) as unknown as Kernel;

/** Replaces the events of a kernel's body, encodes it, and decodes it. */
function decodeWith(
  change: (events: TraceEvent[]) => readonly TraceEvent[],
  kernel = doubled,
  also: Partial<Recording> = {},
) {
  const recording = kernel.record();
  const bodies = recording.bodies.map(({ natives, events }) => ({ natives, events: change([...events]) }));
  return decodeKernel(encodeRecording({ ...recording, bodies, ...also }));
}

const find = <K extends TraceEvent['kind']>(events: readonly TraceEvent[], kind: K) =>
  events.find((event) => event.kind === kind) as Extract<TraceEvent, { kind: K }>;
const replaced = (events: readonly TraceEvent[], old: TraceEvent, made: TraceEvent): TraceEvent[] =>
  events.map((event) => (event === old ? made : event));
const refused = (code: string, message: string | RegExp) =>
  expect.objectContaining({ name: 'MillraceError', code, summary: expect.stringMatching(message) });
const origin = Origin.ofLine('here.ts:1:1');
const local = (type: Scalar): Node => ({ id: 0, op: 'local', type, args: [], stage: 3, detail: {}, origin });
const constant = (type: Scalar, value: number | boolean): Node => ({
  ...local(type),
  op: 'const',
  stage: 0,
  detail: { value },
});

describe('the encoding', () => {
  test('of a small kernel', () => {
    const bytes = encodeKernel(doubled, { origins: false });
    expect(Buffer.from(bytes).toString('hex')).toBe(
      // MRK, version 1, no features; strings doubled by a out; the signature
      '4d524b01000407646f75626c65640262790161036f7574' +
        '00000001010000' +
        '0000' +
        '0202000003' +
        '0100' +
        // no tables, no functions, one body: base + item, pack, load a, mul by, store out
        '0000' +
        '0100' +
        '4001010000' +
        '0102' +
        '5d02010100' +
        '01' +
        '05000501' +
        '4202010000' +
        '00' +
        '06020801' +
        '02' +
        '00',
    );
  });

  test('keeps the source line', () => {
    const site = (kernel: Kernel) =>
      lower(kernel, { target: 'c', lanes: 1, hoist: true, checked: true, cpu: plainCpu, nativeBodies: true }).sites[0]
        ?.line;
    expect(site(decodeKernel(encodeKernel(doubled)))).toMatch(/codec\.test\.ts:\d+:\d+$/);
    expect(site(decodeKernel(encodeKernel(doubled)))).toBe(site(doubled));
    expect(site(decodeKernel(encodeKernel(doubled, { origins: false })))).toBe('an unknown line');
  });

  test('of an otherwise() that follows early values and tables', () => {
    const kernel = items('early', { job: { by: u32 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) =>
      when(item.lt(9), () => {
        const first = when(item.eq(3), () => buffers.out.set(item, 1));
        const values = table(u32, [5, job.by.add(1)]);
        first.otherwise(() => buffers.out.set(item, values.at(item.and(1))));
      }),
    ) as unknown as Kernel;
    const text = (of: Kernel) => kernelText({ ...of, untrusted: undefined } as unknown as Kernel, { target: 'c' });
    expect(text(decodeKernel(encodeKernel(kernel)))).toBe(text(kernel));
    const outermost = items('outermost', { job: { by: u32 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
      const first = when(item.eq(3), () => buffers.out.set(item, 1));
      const value = job.by.add(1);
      first.otherwise(() => buffers.out.set(item, value));
    }) as unknown as Kernel;
    expect(text(decodeKernel(encodeKernel(outermost)))).toBe(text(outermost));
    const varying = items('varying', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const first = when(item.eq(3), () => buffers.out.set(item, 1));
      buffers.out.set(item, 2);
      first.otherwise(() => buffers.out.set(item, 3));
    }) as unknown as Kernel;
    expect(() => encodeKernel(varying)).toThrow(refused('kernel-control', /does not follow its when/));
  });

  test('of the same body at several calls is one function', () => {
    const twice = std({
      name: 'twice',
      results: () => ['u32'],
      generic: (x) => [(x as Expr<'u32'>).add(x as Expr<'u32'>)],
    });
    const kernel = items('calls', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
      buffers.out.set(item, twice(...twice(...twice(item)))[0] as Expr<'u32'>),
    ) as unknown as Kernel;
    const decoded = decodeKernel(encodeKernel(kernel));
    expect((decoded.record() as { functions?: readonly RecordedFunction[] }).functions).toHaveLength(1);
    expect(kernelText({ ...decoded, untrusted: undefined } as unknown as Kernel, { target: 'ir' })).toBe(
      kernelText(kernel, { target: 'ir' }),
    );
  });
});

describe('native bodies', () => {
  const define = (added: number, text: string) =>
    std({
      name: 'odd',
      results: () => ['u32'],
      generic: (x) => [(x as Expr<'u32'>).add(added)],
      native: { 'c-int128': { text: ({ args, results }) => `${results[0]} = ${text}(${args[0]});` } },
    });
  const sent = define(1, 'theirs');
  const kernel = items('odd', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
    buffers.out.set(item, sent(item)[0] as Expr<'u32'>),
  ) as unknown as Kernel;
  const textWith = (...functions: (typeof sent)[]) =>
    kernelText(decodeKernel(encodeKernel(kernel), { functions }), {
      target: 'c',
      lanes: 1,
      cpu: { arch: 'arm', features: new Set() },
    });

  test("are the reader's own, and only if its function has the same generic body", () => {
    expect(textWith(define(1, 'mine'))).toContain('mine(');
    expect(textWith(define(2, 'mine'))).not.toContain('mine(');
    expect(textWith()).not.toContain('theirs');
  });
});

describe('a program that the language could not have made is refused', () => {
  test.each<[string, string, RegExp, () => unknown]>([
    [
      'a store to a read buffer',
      'kernel-invalid',
      /store to the read buffer/,
      () =>
        decodeWith((events) => {
          const store = find(events, 'store');
          return replaced(events, store, {
            ...store,
            place: { ...store.place, buffer: { ...store.place.buffer, slot: 0 } },
          });
        }),
    ],
    [
      'a value of another type',
      'kernel-invalid',
      /different type from its buffer/,
      () =>
        decodeWith((events) => {
          const store = find(events, 'store');
          return replaced(events, store, { ...store, values: [constant('bool', true)] });
        }),
    ],
    [
      'an index that is not a u32',
      'kernel-invalid',
      /index of type f32/,
      () =>
        decodeWith((events) => {
          const load = find(events, 'load');
          return replaced(events, load, { ...load, place: { ...load.place, index: constant('f32', 0) } });
        }),
    ],
    [
      'a break outside a loop',
      'kernel-invalid',
      /outside a loop/,
      () => decodeWith((events) => [...events, { kind: 'break', condition: constant('bool', true), origin }]),
    ],
    [
      'a hit that is not declared',
      'kernel-invalid',
      /other fields than its declaration/,
      () => decodeWith((events) => [...events, { kind: 'emit', values: [], origin }]),
    ],
    [
      'a region in a kernel of items',
      'kernel-invalid',
      /kernel of items/,
      () => decodeWith((events) => [...events, { kind: 'once', body: [], origin }]),
    ],
    [
      'a near array in a kernel of items',
      'kernel-invalid',
      /kernel of items/,
      () =>
        decodeWith((events) => [
          ...events,
          { kind: 'near', near: { name: 'near0', kind: 'near', type: 'u32', slot: 0, length: 4 }, origin },
        ]),
    ],
    [
      'bits of another width',
      'kernel-invalid',
      /not an operation/,
      () =>
        decodeWith((events) => {
          const node: Node = { ...local('u64'), op: 'bits', args: [constant('f32', 1)], stage: 0 };
          return [...events, { kind: 'let', node, origin }];
        }),
    ],
    [
      'an argument of another type than the parameter',
      'input-format',
      /inner takes a u32, not a f32/,
      () =>
        decodeWith((events) => {
          const param = local('u32');
          const callee = { name: 'inner', params: [param], events: [], results: [param], isOwn: true };
          return [...events, { kind: 'call', callee, args: [constant('f32', 1)], results: [local('u32')], origin }];
        }),
    ],
    [
      'an operation that only passes make',
      'kernel-invalid',
      /operation any cannot be encoded/,
      () =>
        decodeWith((events) => {
          const node: Node = { ...local('bool'), op: 'any', args: [constant('bool', true)] };
          return [...events, { kind: 'let', node, origin }];
        }),
    ],
    [
      'a native body',
      'kernel-invalid',
      /native body cannot be encoded/,
      () =>
        decodeWith((events) => [
          ...events,
          { kind: 'native', body: { name: 'x', text: () => 'system("x");' }, args: [], results: [], origin },
        ]),
    ],
    [
      'a name with a line break',
      'kernel-value',
      /not a valid kernel name/,
      () => decodeWith((events) => events, doubled, { name: 'a\nb' }),
    ],
    [
      'a field that is declared twice',
      'input-format',
      /used twice/,
      () => decodeWith((events) => events, doubled, { job: [doubled.record().job[0]!, doubled.record().job[0]!] }),
    ],
  ])('%s', (_, code, message, decode) => {
    expect(decode).toThrow(refused(code, message));
  });

  test('a value that is used outside its block', () => {
    const leaking = items('leaking', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      when(item.eq(3), () => buffers.out.set(1, item.mul(7)));
      buffers.out.set(0, 1);
    }) as unknown as Kernel;
    const inner = (events: readonly TraceEvent[]) => find(find(events, 'when').body, 'let').node;
    const leak = () =>
      decodeWith((events) => {
        const store = events.at(-1) as Extract<Statement, { kind: 'store' }>;
        return replaced(events, store, { ...store, values: [inner(events)] });
      }, leaking);
    expect(leak).toThrow(refused('kernel-invalid', /used outside the when/));
  });

  test('effects outside the regions of a tile', () => {
    const tile = tiles('tile', { buffers: { out: rw(u32) } }, ({ tile: at, buffers, once }) =>
      once(() => buffers.out.set(at, 1)),
    ) as unknown as Kernel;
    const moved = () =>
      decodeWith((events) => [...events.filter(({ kind }) => kind !== 'once'), ...find(events, 'once').body], tile);
    expect(moved).toThrow(refused('kernel-invalid', /outside each\(\) and once\(\)/));
  });

  test('a source line that could end a comment', () => {
    const bytes = encodeKernel(doubled);
    const at = Buffer.from(bytes).indexOf('codec.test.ts');
    bytes.set(Buffer.from('*/'), at);
    expect(() => decodeKernel(bytes)).toThrow(refused('input-format', /unusual characters/));
  });

  test('bodies that leave a target without one, or with two', () => {
    const [body] = doubled.record().bodies;
    const events = body!.events;
    const form = (...natives: [string, boolean][]) => ({ natives: new Map(natives), events });
    const decode = (...bodies: ReturnType<typeof form>[]) =>
      decodeKernel(encodeRecording({ ...doubled.record(), bodies }));
    const message = /no body, or several/;
    expect(() => decode(form(['c-neon', true]))).toThrow(refused('input-format', message));
    expect(() => decode(form(), form())).toThrow(refused('input-format', message));
    expect(() => decode(form(['c-neon', false]), form(['c-sha', true]))).toThrow(refused('input-format', message));
    expect(() => decode(form(['c-neon', false]), form(['c-neon', true], ['c-sha', true]))).toThrow(
      refused('input-format', message),
    );
    decode(form(['c-neon', false]), form(['c-neon', true], ['c-sha', true]), form(['c-neon', true], ['c-sha', false]));
  });

  test('every prefix of a kernel, and a kernel with more after it', () => {
    const bytes = encodeKernel(doubled);
    for (let length = 0; length < bytes.length; length++)
      expect(() => decodeKernel(bytes.slice(0, length)), `${length} bytes`).toThrow(refused('input-format', ''));
    expect(() => decodeKernel(Uint8Array.from([...bytes, 0]))).toThrow(refused('input-format', /follow it/));
    expect(() => decodeKernel(Uint8Array.from([0x4d, 0x52, 0x4b, 2]))).toThrow(refused('input-format', /version 2/));
    expect(() => decodeKernel(Uint8Array.from([0x4d, 0x52, 0x4b, 1, 4]))).toThrow(
      refused('input-format', /features 4/),
    );
  });
});

describe('functions of a kernel', () => {
  const next = fn('next', { x: u32 }, ({ x }) => x.add(1));
  const step = fn('step', { x: u32, w: u64 }, ({ x, w }) => {
    const y = cell(u32, next({ x }));
    for (let k = 0; k < 20; k++) y.set(y.mul(w.lo).xor(k));
    return [next({ x: y }), w.add(1n)];
  });
  const calls = items('calls', { job: { n: u64 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
    const [a, b] = step({ x: item, w: job.n });
    buffers.out.set(item, step({ x: a, w: b })[0]);
  }) as unknown as Kernel;
  /** Changes the first function that the kernel calls. */
  const decodeChanged = (change: (callee: RecordedFunction) => Partial<RecordedFunction>) => () =>
    decodeWith((events) => {
      const call = find(events, 'call');
      const callee = { ...call.callee, ...change(call.callee) };
      const first = events.slice(0, events.indexOf(call) + 1);
      return replaced(first, call, { ...call, callee });
    }, calls);

  test('are stored once, with their own lines', () => {
    const bytes = encodeKernel(calls);
    expect(bytes[4]).toBe(3); // source lines, functions
    const decoded = decodeKernel(bytes);
    expect((decoded.record() as { functions?: readonly RecordedFunction[] }).functions).toMatchObject([
      { name: 'next', isOwn: true },
      { name: 'step', isOwn: true },
    ]);
    const plain = { ...decoded, untrusted: undefined } as unknown as Kernel;
    for (const target of ['ir', 'c', 'cuda', 'wgsl', 'wat'] as const) {
      const text = kernelText(calls, { target, lanes: 1 });
      expect(kernelText(plain, { target, lanes: 1 })).toBe(text);
      expect(text).toMatch(/fn1_step|function step/);
    }
    const lines = (kernel: Kernel) => functionsOf(kernel.trace()).map(({ body }) => body[1]?.origin.line);
    expect(lines(decoded)).toEqual(lines(calls));
    expect(lines(decodeKernel(encodeKernel(calls, { origins: false })))).toEqual([
      'an unknown line',
      'an unknown line',
    ]);
  });

  test.each<[string, string, RegExp, () => unknown]>([
    [
      'that uses a job value',
      'kernel-invalid',
      /function step uses a job value/,
      decodeChanged(() => ({ results: [{ ...local('u64'), op: 'job', stage: 1, detail: { field: 0, element: 0 } }] })),
    ],
    [
      'that stores in a buffer',
      'kernel-invalid',
      /a store is in function step/,
      decodeChanged(({ params: [x = local('u32')], events }) => {
        const buffer = { name: 'out', kind: 'rw', type: 'u32', slot: 0 } as const;
        return { events: [...events, { kind: 'store', place: { buffer, index: x }, values: [x], origin }] };
      }),
    ],
    ['without results', 'kernel-invalid', /function step has other/, decodeChanged(() => ({ results: [] }))],
    ['with another name', 'kernel-value', /not a valid function name/, decodeChanged(() => ({ name: 'a(' }))],
  ])('%s are refused', (_, code, message, decode) => {
    expect(decode).toThrow(refused(code, message));
  });

  test('count in full against the limit of statements', () => {
    let double: (args: { x: Expr<'u32'> }) => Expr<'u32'> = next;
    for (let level = 0; level < 20; level++) {
      const inner = double;
      double = fn(`level-${level}`, { x: u32 }, ({ x }) => inner({ x: inner({ x }) }));
    }
    const bomb = items('bomb', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
      buffers.out.set(item, double({ x: item })),
    ) as unknown as Kernel;
    expect(canInlineAll(bomb.trace())).toBe(false);
    expect(() => decodeKernel(encodeKernel(bomb))).toThrow(refused('kernel-budget', /statements, the limit is 250000/));
  });
});

describe('limits', () => {
  const limited = (kernel: Kernel, limits: Partial<KernelLimits>) => () =>
    decodeKernel(encodeKernel(kernel), { limits });

  test('of size, parameters, near arrays and depth', () => {
    expect(limited(doubled, { bytes: 10 })).toThrow(refused('kernel-budget', /bytes, the limit is 10/));
    expect(limited(doubled, { statements: 3 })).toThrow(refused('kernel-budget', /4 statements/));
    expect(limited(doubled, { parameterWords: 0 })).toThrow(refused('kernel-budget', /1 parameter words/));
    const near = tiles('near', {}, ({ near: array, once }) => {
      const words = array(u64, 1000);
      once(() => words.set(0, 1));
    }) as unknown as Kernel;
    expect(limited(near, { nearBytes: 7999 })).toThrow(refused('kernel-budget', /8000 bytes of near arrays/));
    const deep = items('deep', {}, ({ item }) => {
      const nest = (depth: number): void => loop(item, () => (depth > 0 ? nest(depth - 1) : void cell(f32, 0)));
      nest(101);
    }) as unknown as Kernel;
    expect(limited(deep, {})).toThrow(refused('kernel-budget', /blocks inside each other/));
  });

  test('hold for functions that double eight times', () => {
    let double: (x: Expr<Type>) => Expr<Type>[] = (x) => [(x as Expr<'u32'>).add(1)];
    for (let level = 0; level < 8; level++) {
      const inner = double;
      double = std({
        name: `level ${level}`,
        results: () => ['u32'],
        generic: (x) => inner(inner(x as never)[0] as never),
      });
    }
    const kernel = items('bomb', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
      buffers.out.set(item, double(item as Expr<Type>)[0] as Expr<'u32'>),
    ) as unknown as Kernel;
    expect(encodeKernel(kernel).length).toBeLessThan(2000);
    expect(limited(kernel, { statements: 400 })).toThrow(refused('kernel-budget', /statements, the limit is 400/));
  });
});
