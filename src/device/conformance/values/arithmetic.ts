import {
  type BufferSpec,
  type Expr,
  items,
  type Kernel,
  lit,
  loop,
  type ReadBuffer,
  type RwBuffer,
  read,
  type Type,
  table,
  type Value,
} from '../../../kernel/index.js';
import { currentTrace } from '../../../kernel/language/trace.js';
import type { CompileOptions, Device, FieldValues } from '../../device.js';
import { type Case, needsOfType } from '../case.js';
import { resultCheckFor } from '../model/result-check.js';
import { type Data, dataOf, Rig } from '../rig.js';
import { runsGangs } from '../streams/behaviour.js';
import { type Operation, operationsOn, type Slot, scalars, slotType } from './operations.js';
import { type Buffers, inMemory, memoryType, type Result, ResultLayout } from './result-layout.js';
import { allRows, argsOf, type Row, slots, someRows } from './rows.js';

/**
 * Every operation on every type in four forms: operands from memory (nothing can fold), all constants (everything
 * folds), one operand constant (identities, division by constants), operands of the job and the chunk (hoisting; with
 * hoisting off, scalars beside vectors). One kernel holds all operations of a type, so that few are compiled.
 */
export const arithmetic: readonly Case[] = scalars.flatMap((type) =>
  casesOn(type).map((one) => ({ ...one, needs: needsOfType(type) })),
);

function casesOn(type: Type): Case[] {
  return [
    ...([1, 'auto'] as const).map(
      (lanes): Case => ({
        name: `operations/${type}/from memory, ${lanes === 1 ? 'one lane' : 'a gang'}`,
        run: (device) => runVarying(device, type, { lanes }),
      }),
    ),
    // The forms for targets without 64-bit integers and with a second pipe, tested on all devices.
    ...([1, 'auto'] as const).map(
      (lanes): Case => ({
        name: `operations/${type}/in 32-bit words and multiply-adds, ${lanes === 1 ? 'one lane' : 'a gang'}`,
        run: (device) => runVarying(device, type, { lanes, wide: true, pipes: 0.5 }),
      }),
    ),
    { name: `operations/${type}/all constant`, run: (device) => runConstant(device, type) },
    ...([1, 'auto'] as const).map(
      (lanes): Case => ({
        name: `operations/${type}/one operand constant, ${lanes === 1 ? 'one lane' : 'a gang'}`,
        run: (device) => runHalfConstant(device, type, { lanes }),
      }),
    ),
    ...[true, false].map(
      (hoist): Case => ({
        name: `operations/${type}/of the job and chunk, hoist ${hoist ? 'on' : 'off'}`,
        run: (device) => runUniform(device, type, { hoist }),
      }),
    ),
  ];
}

/** Operands in as few buffers as possible, since some devices bind 8: a to d as quads, n and p as words. */
const inputSpecs = (type: Type): Record<string, BufferSpec> => ({
  operands: read(memoryType(type) as 'u32'),
  words: read('u32'),
});

const inputData = (type: Type, rows: readonly Row[]): Record<string, Data> => ({
  operands: dataOf(
    type,
    rows.flatMap(({ a, b, c, d }) => [a, b, c, d]),
  ),
  words: dataOf(
    'u32',
    rows.flatMap(({ n, p }) => [n, Number(p)]),
  ),
});

/** Loads each operand once. As in a std function, those that no operation uses need not be used. */
function inputs(type: Type, buffers: Buffers, row: Expr<'u32'>): Record<Slot, Expr<Type>> {
  const asBool = (word: Expr<'u32'>) => currentTrace().withCallerOrigin(() => word.ne(0));
  const quad = (buffers.operands as ReadBuffer<'u32'>).at4(row);
  const [a, b, c, d] = type === 'bool' ? (quad.map(asBool) as Expr<Type>[]) : quad;
  const word = (k: number) => (buffers.words as ReadBuffer<'u32'>).at(row.mul(2).add(k));
  return { a, b, c, d, n: word(0), p: asBool(word(1)) } as Record<Slot, Expr<Type>>;
}

async function runVarying(device: Device, type: Type, options: CompileOptions): Promise<void> {
  const rows = allRows(type);
  const sheet = new ResultLayout();
  const results = operationsOn(type, device).map(
    (operation): Result => ({ operation, form: '', operands: (row) => argsOf(operation, row) }),
  );
  for (const result of results) sheet.add(result);
  const kernel = items(`varying-${type}`, { buffers: { ...inputSpecs(type), ...sheet.specs } }, ({ item, buffers }) => {
    const values = inputs(type, buffers, item);
    sheet.store(buffers, item, ({ operation }) => operation.build(operation.uses.map((slot) => values[slot])));
  });
  await runAndCompare(
    device,
    kernel,
    sheet,
    rows,
    { ...inputData(type, rows), ...sheet.buffers(rows.length) },
    options,
  );
}

/** Results as tables of constants: cheap to compile however many there are, and every kind of literal is printed. */
async function runConstant(device: Device, type: Type): Promise<void> {
  // A GPU's workgroups each copy the tables; in software that takes seconds.
  const rows = someRows(type, device.info.processor === 'gpu' || runsGangs(device) ? 60 : 20);
  const sheet = new ResultLayout();
  const results = operationsOn(type, device).map(
    (operation): Result => ({ operation, form: 'of constants', operands: (row) => argsOf(operation, row) }),
  );
  for (const result of results) sheet.add(result);
  const kernel = items(`constant-${type}`, { buffers: sheet.specs }, ({ buffers }) => {
    const entries = new Map<Type, Expr<Type>[]>();
    rows.forEach((row, r) => {
      for (const result of results) {
        const { operation } = result;
        const place = sheet.add(result);
        const value = operation.build(operation.uses.map((slot) => lit(slotType(slot, type), row[slot])));
        const list = entries.get(place.type) ?? [];
        entries.set(place.type, list);
        list[r * sheet.width(place.type) + place.at] = inMemory(value);
      }
    });
    for (const [outType, list] of entries) {
      const filled = Array.from(list, (value) => value ?? (list[0] as Expr<Type>)); // quads may be partly filled
      const constants = table(outType as 'u32', filled as Expr<'u32'>[]);
      loop(list.length, (i) => (buffers[`out-${outType}`] as unknown as RwBuffer<'u32'>).set(i, constants.at(i)));
    }
  });
  await runAndCompare(device, kernel, sheet, rows, sheet.buffers(rows.length), {}, 1);
}

interface Variant {
  readonly fixed: Slot;
  readonly constant: Value;
}

/**
 * Makes each operand constant in turn. Compilers are slow with hundreds of stores in a gang or on a GPU: fewer constants.
 */
async function runHalfConstant(device: Device, type: Type, options: CompileOptions): Promise<void> {
  const zeros = /^f/.test(type) ? [0, -0] : [];
  const rows = [
    ...someRows(type, 48),
    ...zeros.flatMap((a) => zeros.map((b) => ({ ...someRows(type, 1)[0], a, b }) as Row)),
  ];
  const constants = someRows(type, options.lanes !== 1 ? 3 : runsGangs(device) ? 28 : 8);
  const sheet = new ResultLayout();
  const variants = new Map<Result, Variant>();
  for (const operation of operationsOn(type, device).filter(({ uses }) => uses.length > 1)) {
    const add = (fixed: Slot, constant: Value) => {
      const operands = (row: Row) => argsOf(operation, { ...row, [fixed]: constant });
      const result: Result = { operation, form: `with constant ${fixed}`, operands };
      sheet.add(result);
      variants.set(result, { fixed, constant });
    };
    constants.forEach((constant, k) => {
      const fixed = operation.uses[k % operation.uses.length] as Slot;
      add(fixed, constant[fixed]);
    });
    // Compilers know instructions for these, which may order 0 and −0.
    if (/^(min|max)\./.test(operation.name))
      for (const zero of zeros) for (const slot of operation.uses) add(slot, zero);
  }
  const kernel = items(
    `half-constant-${type}`,
    { buffers: { ...inputSpecs(type), ...sheet.specs } },
    ({ item, buffers }) => {
      const values = inputs(type, buffers, item);
      sheet.store(buffers, item, (result) => {
        const { operation } = result;
        const { fixed, constant } = variants.get(result) as Variant;
        return operation.build(
          operation.uses.map((slot) => (slot === fixed ? lit(slotType(slot, type), constant) : values[slot])),
        );
      });
    },
  );
  await runAndCompare(
    device,
    kernel,
    sheet,
    rows,
    { ...inputData(type, rows), ...sheet.buffers(rows.length) },
    options,
  );
}

/** Slots that come with the job; the others come with the chunk. */
const ofJob: readonly Slot[] = ['a', 'c', 'p'];

async function runUniform(device: Device, type: Type, options: CompileOptions): Promise<void> {
  const rows = someRows(type, 24);
  const LAUNCHES = 24;
  const fields = (isJob: boolean): Record<string, Type> =>
    Object.fromEntries(
      slots.filter((slot) => ofJob.includes(slot) === isJob).map((slot) => [slot, slotType(slot, type)]),
    );
  for (const [form, isUniform] of uniformForms) {
    const sheet = new ResultLayout();
    let known: Row | undefined;
    const results = operationsOn(type, device)
      .filter((operation) => form === 'all known early' || operation.uses.length > 1)
      .map((operation): Result => {
        const operands = (row: Row) =>
          operation.uses.map((slot) => (isUniform(slot, operation) ? (known as Row) : row)[slot]);
        const result = { operation, form, operands };
        sheet.add(result);
        return result;
      });
    if (results.length === 0) continue;
    const signature = { job: fields(true), chunk: fields(false), buffers: { ...inputSpecs(type), ...sheet.specs } };
    const kernel = items(`uniform-${type}`, signature, ({ item, job, chunk, buffers }) => {
      const varying = inputs(type, buffers, item);
      const early = { ...job, ...chunk } as Record<Slot, Expr<Type>>;
      sheet.store(buffers, item, ({ operation }) =>
        operation.build(operation.uses.map((slot) => (isUniform(slot, operation) ? early : varying)[slot])),
      );
    });
    const some = form === 'all known early' ? rows.slice(0, 2) : rows;
    await Rig.with(device, async (rig) => {
      const program = await device.compile(kernel, options);
      for (const row of someRows(type, LAUNCHES)) {
        known = row;
        const valuesFor = (isJob: boolean): FieldValues =>
          Object.fromEntries(slots.filter((slot) => ofJob.includes(slot) === isJob).map((slot) => [slot, row[slot]]));
        const buffers = { ...inputData(type, some), ...sheet.buffers(some.length) };
        const outcome = await rig.run(program, {
          job: valuesFor(true),
          chunk: valuesFor(false),
          count: some.length,
          buffers,
        });
        sheet.compare(outcome.buffers, some, resultCheckFor(device));
      }
    });
  }
}

/** Which operands are known before the launch: all, the first, or all but the first. */
const uniformForms: readonly (readonly [string, (slot: Slot, operation: Operation) => boolean])[] = [
  ['all known early', () => true],
  ['first known early', (slot, operation) => slot === operation.uses[0]],
  ['all but the first known early', (slot, operation) => slot !== operation.uses[0]],
];

async function runAndCompare(
  device: Device,
  kernel: Kernel,
  sheet: ResultLayout,
  rows: readonly Row[],
  buffers: Readonly<Record<string, Data>>,
  options: CompileOptions,
  count = rows.length,
): Promise<void> {
  const outcome = await Rig.with(device, async (rig) =>
    rig.run(await device.compile(kernel, options), { count, buffers }),
  );
  sheet.compare(outcome.buffers, rows, resultCheckFor(device));
}
