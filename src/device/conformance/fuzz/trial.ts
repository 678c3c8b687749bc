import { fromWords, interpret, type Program, type Type, type Value, wordsOf } from '../../../kernel/index.js';
import type { DeviceProgram, FieldValues } from '../../device.js';
import type { Random } from '../model/random.js';
import { type Data, dataOf, elementOf, formatValue, isSameValue, type LaunchOutcome, type Rig, zeros } from '../rig.js';
import { fullPalette, type Palette } from './palette.js';
import { INPUT_LENGTH, SHARED_ATOMICS } from './recipe.js';
import { INDICES_PER_TILE } from './tile-recipe.js';

/** The inputs of one launch of a random kernel. */
export interface Inputs {
  readonly job: FieldValues;
  readonly chunk: FieldValues;
  readonly base: bigint;
  readonly count: number;
  /** Records that the ring holds. */
  readonly capacity: number;
  /** Of the recipe: a hit has one of each. */
  readonly types: readonly Type[];
  /** Buffers of every type; a kernel gets those that it names. */
  readonly buffers: Readonly<Record<string, Data>>;
}

/** The results: the buffers and the hits. */
export interface Output {
  readonly buffers: Readonly<Record<string, Data>>;
  readonly ring: Uint32Array;
}

const HEADER = 4;
const recordWords = (types: readonly Type[]): number => types.reduce((words, type) => words + wordsOf(type), 1);
/** More hits than most kernels emit. If there are more, only their number is compared. */
export const AMPLE_RECORDS = 1000;
export const RING_WORDS = HEADER + AMPLE_RECORDS * recordWords(fullPalette.scalars);

/** `owners` is the number of owners of memory per index of the launch: 1, or the indices of a tile's regions. */
export function randomInputs(random: Random, palette: Palette = fullPalette, maxCount = 40, owners = 1): Inputs {
  const value = (type: Type): Value => palette.value(type, random);
  const { scalars, numeric } = palette;
  const count = random.chance(0.1) ? random.below(3) : 1 + random.below(maxCount);
  const bases = [0n, random.u64(), ((random.u64() >> 32n) << 32n) - BigInt(count), BigInt(random.u32())].map((base) =>
    BigInt.asUintN(64, base),
  );
  const start = random.pick(bases);
  const remaining = (1n << 32n) - (start & 0xffff_ffffn);
  const base = remaining >= BigInt(count) ? start : start - BigInt(count);
  const randomData = (type: Type, length: number) =>
    dataOf(
      type,
      Array.from({ length }, () => value(type)),
    );
  /** Repeats 61 values: the memory of a tile is large. */
  const repeated = (type: Type, length: number) => {
    const few = randomData(type, 61);
    const all = zeros(type, length);
    for (let i = 0; i < length; i++) all[i] = few[i % few.length] as never;
    return all;
  };
  const owned = owners === 1 ? randomData : repeated;
  return {
    job: { ...Object.fromEntries(scalars.map((type) => [`job-${type}`, [value(type), value(type)]])), hold: 0 },
    chunk: Object.fromEntries(scalars.map((type) => [`chunk-${type}`, value(type)])),
    base,
    count,
    capacity: random.chance(0.2) ? 1 + random.below(20) : AMPLE_RECORDS,
    types: scalars,
    buffers: {
      ...Object.fromEntries(numeric.map((type) => [`in-${type}`, randomData(type, INPUT_LENGTH)])),
      bytes: Uint8Array.from({ length: INPUT_LENGTH }, () => random.below(256)),
      ...Object.fromEntries(numeric.map((type) => [`own-${type}`, owned(type, Math.max(4, 4 * count * owners))])),
      ...Object.fromEntries(
        palette.atomics.map((type) => [`tally-${type}`, owned(type, SHARED_ATOMICS.length + 2 * count * owners)]),
      ),
    },
  };
}

export const randomTileInputs = (random: Random, palette: Palette = fullPalette, maxCount = 8): Inputs =>
  randomInputs(random, palette, maxCount, INDICES_PER_TILE);

/** Runs one launch in the interpreter, with a ring that is large enough. */
export function interpretInputs(program: Program, inputs: Inputs): Output {
  const buffers = copyBuffers(inputs, program.buffers);
  const ring = new Uint32Array(RING_WORDS);
  const bytes = (data: Data) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const { job, chunk, base, count } = inputs;
  const views = Object.fromEntries(Object.entries(buffers).map(([name, data]) => [name, bytes(data)]));
  interpret(program, { job, chunk, base, count, buffers: views, ring: bytes(ring) });
  return { buffers, ring };
}

/** Returns copies of the buffers that a kernel names, which it may change. */
export function copyBuffers({ buffers }: Inputs, named: readonly { readonly name: string }[]): Record<string, Data> {
  const copies = named.flatMap(({ name }) => (buffers[name] ? [[name, buffers[name].slice()] as const] : []));
  return Object.fromEntries(copies);
}

/** Runs one launch. If `cancelAfterMs` is given, the launch is cancelled that long after it was queued. */
export function deviceOutput(
  rig: Rig,
  program: DeviceProgram,
  inputs: Inputs,
  cancelAfterMs?: number,
): Promise<LaunchOutcome> {
  const { job, chunk, base, count, capacity, types } = inputs;
  const ring = new Uint32Array(HEADER + capacity * recordWords(types));
  const buffers = copyBuffers(inputs, program.bindings);
  return rig.run(program, { job, chunk, base, count, buffers, ring }, cancelAfterMs);
}

/** Describes the first wrong value; undefined if all are correct. */
export function difference(inputs: Inputs, expected: Output, actual: Output): string | undefined {
  for (const [name, expectedData] of Object.entries(expected.buffers)) {
    const got = actual.buffers[name] ?? zeros('u32', 0);
    if (sameBytes(expectedData, got)) continue;
    for (let i = 0; i < expectedData.length; i++) {
      const type = (name.split('-')[1] ?? 'u32') as Type;
      const [isNow, shouldBe] = [elementOf(type, got, i), elementOf(type, expectedData, i)];
      if (isSameValue(shouldBe, isNow)) continue;
      const where = name.startsWith('own-')
        ? `item ${Math.floor(i / 4)}, slot ${i % 4} of ${name}`
        : `word ${i} of ${name}`;
      return `${where} is ${formatValue(type, isNow)}, not ${formatValue(type, shouldBe)}`;
    }
  }
  return hitDifference(inputs, expected.ring, actual.ring);
}

/** Compares quickly; arrays are mostly equal. */
function sameBytes(a: Data, b: Data): boolean {
  const bytes = (data: Data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return bytes(a).equals(bytes(b));
}

function hitDifference({ capacity, types }: Inputs, expected: Uint32Array, actual: Uint32Array): string | undefined {
  if (expected[0] !== actual[0]) return `${actual[0]} hits are counted, not ${expected[0]}`;
  const count = expected[0] ?? 0;
  const left = new Map<string, number>();
  for (const record of recordsIn(expected, types, Math.min(count, AMPLE_RECORDS)))
    left.set(record, (left.get(record) ?? 0) + 1);
  for (const record of recordsIn(actual, types, Math.min(count, capacity))) {
    const more = (left.get(record) ?? 0) - 1;
    if (more < 0 && count <= AMPLE_RECORDS) return `the hit (${record}) occurs once too often`;
    left.set(record, more);
  }
  return undefined;
}

/** Records as text, with all NaNs alike. */
export function recordsIn(ring: Uint32Array, types: readonly Type[], count: number): string[] {
  return Array.from({ length: count }, (_, k) => {
    let at = HEADER + k * recordWords(types);
    const words = [`item ${ring[at++]}`];
    for (const type of types) {
      const value = type === 'bool' ? (ring[at] as number) : fromWords(type, ring, at);
      words.push(Object.is(value, -0) ? '-0' : String(value));
      at += wordsOf(type);
    }
    return words.join(', ');
  });
}

/** Prints the inputs for a report, without the buffers' contents, which the seed determines. */
export function showInputs({ job, chunk, base, count, capacity }: Inputs): string {
  const text = (values: FieldValues) =>
    Object.entries(values)
      .map(([name, value]) => `${name}: ${Array.isArray(value) ? `[${value.join(', ')}]` : String(value)}`)
      .join(', ');
  return `base ${base}, ${count} items, ring of ${capacity}\njob   { ${text(job)} }\nchunk { ${text(chunk)} }`;
}
