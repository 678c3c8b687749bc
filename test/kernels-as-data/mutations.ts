import type { Random } from '../../src/device/conformance/model/random.js';
import { decodeRecording } from '../../src/kernel/codec/decode.js';
import { encodeRecording } from '../../src/kernel/codec/encode.js';
import { atomicNumbers, opNumbers } from '../../src/kernel/codec/numbers.js';
import { MillraceError } from '../../src/kernel/index.js';
import { defaultKernelLimits } from '../../src/kernel/ir/limits.js';
import { innerBlocks, type Statement } from '../../src/kernel/ir/program.js';
import type { TraceEvent } from '../../src/kernel/ir/recording.js';
import { type Encoding, numberBytes, pickTwo, replaceSpans, type Span } from './encoding.js';

/** Returns the bytes of one of the encodings after a few changes: of bytes, of the format's parts, or of the program. */
export function mutate(random: Random, encodings: readonly Encoding[]): Uint8Array {
  const [encoding, other] = [random.pick(encodings), random.pick(encodings)];
  const kind = random.below(4);
  const changed =
    (kind === 0 ? undefined : kind === 1 ? mutateProgram(random, encoding) : mutateParts(random, encoding, other)) ??
    mutateBytes(random, encoding.bytes, other.bytes);
  return random.chance(0.1) ? mutateBytes(random, changed, other.bytes) : changed;
}

/** Changes, inserts, removes or repeats a few bytes. */
function mutateBytes(random: Random, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  let result = [...bytes];
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(result.length);
    const length = 1 + random.below(8);
    const from = random.below(other.length);
    const changes = [
      () => (result[at] = random.below(256)),
      () => (result[at] = ((result[at] ?? 0) + random.pick([1, 2, 3, 255, 254])) & 255),
      () => (result[at] = (result[at] ?? 0) ^ (1 << random.below(8))),
      () => result.splice(at, 0, random.below(256)),
      () => result.splice(at, length),
      () => result.splice(at, 0, ...result.slice(at, at + length)),
      () => result.splice(at, length, ...other.slice(from, from + length)),
      () => (result = result.slice(0, at + 1)),
    ];
    random.pick(changes)();
  }
  return Uint8Array.from(result);
}

const edgeNumbers = [0, 1, 2, 0x7f, 0x80, 0x3fff, 0x4000, 0xffff, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 34];

/** Changes a number, or moves, removes, repeats or exchanges whole parts. The counts of lists stay right, mostly. */
function mutateParts(random: Random, encoding: Encoding, other: Encoding): Uint8Array | undefined {
  const { bytes, numbers, lists, blocks, boundaries } = encoding;
  const slice = ({ from, to }: Span) => bytes.subarray(from, to);
  const swap = (pair: readonly [Span, Span] | undefined) =>
    pair &&
    replaceSpans(bytes, [
      { ...pair[0], by: slice(pair[1]) },
      { ...pair[1], by: slice(pair[0]) },
    ]);
  const number = random.pick(numbers);
  const list = random.pick(lists);
  const rewriteList = (entries: readonly Span[]) =>
    replaceSpans(bytes, [
      { ...list, by: [...numberBytes(entries.length), ...entries.flatMap((entry) => [...slice(entry)])] },
    ]);
  const at = random.below(list.entries.length);
  const foreign = (part: Span, from: Encoding, by: Span) =>
    replaceSpans(bytes, [{ ...part, by: from.bytes.subarray(by.from, by.to) }]);
  const changes: (() => Uint8Array | undefined)[] = [
    () => replaceSpans(bytes, [{ ...number, by: numberBytes(random.pick(edgeNumbers)) }]),
    () =>
      replaceSpans(bytes, [{ ...number, by: numberBytes(Math.max(0, number.value + random.pick([-2, -1, 1, 2]))) }]),
    () => replaceSpans(bytes, [{ ...number, by: numberBytes(random.pick(numbers).value) }]),
    () => replaceSpans(bytes, [{ ...number, by: numberBytes(number.value, 1 + random.below(4)) }]),
    () => swap(pickTwo(random, numbers)),
    () => swap(pickTwo(random, lists)),
    () => swap(pickTwo(random, blocks)),
    () => swap(pickTwo(random, list.entries)),
    () => rewriteList(list.entries.toSpliced(at, 1)),
    () => rewriteList(list.entries.toSpliced(at, 0, ...list.entries.slice(at, at + 1))),
    () => rewriteList([]),
    () => foreign(list, other, random.pick(other.lists)),
    () => foreign(random.pick(blocks), other, random.pick(other.blocks)),
    () => foreign(random.pick(blocks), encoding, random.pick(blocks)),
    () => {
      const range = pickTwo(random, boundaries);
      return range && replaceSpans(bytes, [{ from: range[0], to: range[1], by: [] }]);
    },
    () => {
      const range = pickTwo(random, boundaries);
      return range && replaceSpans(bytes, [{ from: range[0], to: range[0], by: bytes.subarray(...range) }]);
    },
    // The first part of one, the rest of the other.
    () => {
      const [head, tail] = [random.pick(boundaries), random.pick(other.boundaries)];
      return Uint8Array.from([...bytes.subarray(0, head), ...other.bytes.subarray(tail)]);
    },
  ];
  return random.pick(changes)();
}

/** Changes the events of one block. Undefined if the result has no encoding, such as a value used before it is made. */
function mutateProgram(random: Random, { bytes }: Encoding): Uint8Array | undefined {
  const recording = decodeRecording(bytes, defaultKernelLimits); // an own one, to change in place
  const bodies = [...recording.bodies, ...recording.functions].flatMap(({ events }) =>
    blocksOf(events as TraceEvent[]),
  );
  const events = random.pick(bodies);
  const [at, to] = [random.below(events.length), random.below(events.length)];
  const event = events[at];
  const changes = [
    () => events.splice(at, 1),
    () => events.splice(to, 0, ...events.slice(at, at + 1)),
    () => events.splice(to, 0, ...events.splice(at, 1)),
    () => event && changeEvent(random, event),
    () => event && changeEvent(random, event),
  ];
  random.pick(changes)();
  try {
    return encodeRecording(recording);
  } catch (error) {
    if (error instanceof MillraceError) return undefined;
    throw error;
  }
}

function blocksOf(events: TraceEvent[]): TraceEvent[][] {
  const inside = events.flatMap((event) => ('callee' in event ? [] : innerBlocks(event as Statement)));
  return [events, ...inside.flatMap((block) => blocksOf(block as TraceEvent[]))];
}

/** Sets another operation, other operands or another access, without regard to types. */
function changeEvent(random: Random, event: TraceEvent): void {
  switch (event.kind) {
    case 'let': {
      const { args } = event.node;
      const op = random.pick(Object.keys(opNumbers));
      Object.assign(event.node, random.chance(0.5) ? { op } : { args: args.map(() => random.pick(args)) });
      return;
    }
    case 'when':
      Object.assign(event, { body: event.otherwise, otherwise: event.body });
      return;
    case 'loop':
    case 'each':
      Object.assign(event, { kind: event.kind === 'loop' ? 'each' : 'loop' });
      return;
    case 'load':
      Object.assign(event, { results: event.results.slice(0, 1) });
      return;
    case 'store':
      Object.assign(event, { values: Array.from({ length: 4 }, () => random.pick(event.values)) });
      return;
    case 'atomic':
      Object.assign(event, { op: random.pick(Object.keys(atomicNumbers)) });
      return;
    case 'near':
      Object.assign(event.near, { length: random.pick(edgeNumbers) % 2 ** 32 });
      return;
    case 'array':
      Object.assign(event.array, { length: random.pick(edgeNumbers) % 2 ** 32 });
      return;
    case 'cell':
    case 'set':
      Object.assign(event, { value: { ...event.value, op: 'const', type: 'f64', detail: { value: Number.NaN } } });
  }
}
