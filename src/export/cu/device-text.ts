import { LaunchHeader } from '../../kernel/abi/grid.js';
import { cudaLowering, type LoweredGpuKernel, lowerGpu } from '../../kernel/abi/lower-gpu.js';
import { QueueHeader, QueueState } from '../../kernel/abi/resident-abi.js';
import type { Kernel } from '../../kernel/index.js';
import { queueEntryWords } from '../../kernel/render/gpu/cuda-queue.js';
import { roundConstants } from '../../kernel/std/hash/sha256.js';
import type { CuPipeline } from '../request.js';
import { hex32 } from './hex.js';
import { hostPart } from './host-part.js';

/** The generated parts of the file. */
export interface DeviceText {
  /** Types, and the launch block. */
  readonly types: string;
  /** Names of the words that the host and the kernel share. */
  readonly words: string;
  /** The kernel without its body. */
  readonly declaration: string;
  /** The body of the function that computes the job's words. */
  readonly hostPart: string;
  /** Functions of the device, and the kernel. */
  readonly kernel: string;
}

/** The kernel's name in the file. */
const ENTRY = 'search_nonces';

/**
 * Lowers the kernel as CUDA devices of the engine do. The text is theirs, with names for words of memory and with comments.
 */
export function deviceText(kernel: Kernel, pipeline: CuPipeline): DeviceText {
  const lowered = lowerGpu(kernel, { ...cudaLowering, harness: pipeline === 'persistent' ? 'queue' : 'range' });
  const { program, shape } = lowered;
  const names = namesOf(lowered, pipeline);
  const lines = lowered.text.replace(shape.entry, ENTRY).trimEnd().split('\n');
  const at = lines.findIndex((line) => line.startsWith('extern "C"'));
  const prelude = lines.slice(0, at).filter((line) => line !== '' && !line.startsWith('//'));
  const isFunction = (line: string) => line.startsWith('__device__');
  const head = wrapped((lines[at] ?? '').replace(/ \{$/, ''));
  const body = lines.slice(at + 1).map((line) => nameWords(line, names));
  return {
    types: prelude.filter((line) => !isFunction(line)).join('\n'),
    words: wordNames(names, pipeline === 'persistent' ? queueEntryWords({ program }) : undefined),
    declaration: `${head};`,
    hostPart: hostPart(program)
      .map((line) => `  ${line}`)
      .join('\n'),
    kernel: [...prelude.filter(isFunction), '', `${head} {`, ...annotate(body, pipeline)].join('\n'),
  };
}

/** Names of words, by their index: of the launch block, of the grid's state, of an entry. */
interface WordNames {
  readonly launch: ReadonlyMap<number, string>;
  readonly state: ReadonlyMap<number, string>;
  readonly entry: ReadonlyMap<number, string>;
}

function namesOf({ shape, program }: LoweredGpuKernel, pipeline: CuPipeline): WordNames {
  const isQueue = pipeline === 'persistent';
  const header: readonly (readonly [number, string])[] = isQueue
    ? [
        [QueueHeader.partsLog, 'PARTS_LOG'],
        [QueueHeader.capacityLog, 'SLOTS_LOG'],
        [QueueHeader.ringWords, 'WORDS_OF_RING'],
        [QueueHeader.epoch, 'EPOCH'],
        [QueueHeader.processors, 'PROCESSORS'],
        [QueueHeader.firstProcessor, 'FIRST_PROCESSOR'],
        [QueueHeader.ownProcessors, 'OWN_PROCESSORS'],
      ]
    : [
        [LaunchHeader.last, 'LAST'],
        [LaunchHeader.epoch, 'EPOCH'],
        [LaunchHeader.first, 'FIRST'],
      ];
  const { parametersAt } = shape.launch;
  const chunk = program.params
    .filter(({ word }) => word >= program.jobWords)
    .map(({ word, name }) => [word, chunkNames[name] ?? name] as const);
  return {
    launch: new Map([
      ...header,
      [parametersAt, 'JOB'],
      ...chunk.map(([word, name]) => [parametersAt + word, name] as const),
    ]),
    state: new Map(
      isQueue
        ? Object.entries(stateNames).map(([name, text]) => [QueueState[name as keyof typeof QueueState], text])
        : [],
    ),
    entry: new Map(
      isQueue
        ? chunk.filter(([, name]) => name === 'BASE').map(([word]) => [1 + word - program.jobWords, 'ENTRY_BASE'])
        : [],
    ),
  };
}

const chunkNames: Readonly<Record<string, string>> = { base_0: 'BASE', ringCapacity: 'RING_CAPACITY', one: 'ONE' };
const stateNames: Readonly<Record<keyof typeof QueueState, string>> = {
  head: 'HEAD',
  entriesSeen: 'ENTRIES_SEEN',
  hasWatch: 'HAS_WATCH',
  order: 'ORDER',
  lastFinished: 'LAST_FINISHED',
  runningGroups: 'RUNNING',
};

function wordNames({ launch, state, entry }: WordNames, entryWords: number | undefined): string {
  const list = (names: ReadonlyMap<number, string>) => [...names].map(([word, name]) => `${name} = ${word}`).join(', ');
  return [
    `// Words of a launch block. From JOB on, it holds the block's own words.`,
    `enum LaunchWord { ${list(launch)} };`,
    ...(entryWords === undefined
      ? []
      : [
          '// Words of the state of a grid, and of an entry: the number of its last item, then its first nonce.',
          `enum StateWord { ${list(state)} };`,
          `enum EntryWord { ${list(entry)}, ENTRY_WORDS = ${entryWords} };`,
        ]),
  ].join('\n');
}

/** Breaks the list of a head's arguments into lines. */
function wrapped(head: string): string {
  const [name = '', list = ''] = head.split(/(?<=^[^(]*\([^(]*\([^(]*|^[^(]*\(\d+\) \w+)\(/);
  const rows: string[] = [];
  for (const argument of list.replace(/\)$/, '').split(', ')) {
    const last = rows.at(-1);
    if (last !== undefined && last.length + argument.length < 110) rows[rows.length - 1] = `${last}, ${argument}`;
    else rows.push(argument);
  }
  return `${name}(\n    ${rows.join(',\n    ')})`;
}

function nameWords(line: string, { launch, state, entry }: WordNames): string {
  const jobAt = [...launch].find(([, name]) => name === 'JOB')?.[0] ?? 0;
  const launchWord = (index: number) => launch.get(index) ?? (index > jobAt ? `JOB + ${index - jobAt}` : String(index));
  return line
    .replace(/launch\.words\[(\d+)\]/g, (_, index) => `launch.words[${launchWord(Number(index))}]`)
    .replace(/\bstate\[(\d+)\]/g, (_, index) => `state[${state.get(Number(index)) ?? index}]`)
    .replace(/\bstate \+ (\d+)/g, (_, index) => `state + ${state.get(Number(index)) ?? index}`)
    .replace(/\bentry\[(\d+)\];$/, (_, index) => `entry[${entry.get(Number(index)) ?? index}];`);
}

/** A comment of its own line before the line that matches. */
type Note = readonly [before: RegExp, ...comment: readonly string[]];

const itemNotes: readonly Note[] = [
  [/const u32 p_job_0 = /, "The block's words."],
  [/const u32 v0 = item \+ /, 'The nonce; then its bytes, as SHA-256 reads them. Each line of the rest is one value.'],
  [
    /^ *if \(v\d+ <= p_target_0\)/,
    "The hash's top 32 bits are known after round 60. Nearly all nonces end here; the others have the last three rounds.",
  ],
  [/^ *const u32 v\d+ = atomicAdd\(&b_ring\[0u\]/, 'A hit. It is counted, and stored if there is room.'],
];

const notes: Readonly<Record<CuPipeline, readonly Note[]>> = {
  poll: [
    [/^ *if \(counted\)/, 'A launch may read its number of items from memory. This program does not use that.'],
    [/^ *const u32 least = /, 'Blocks of 256 items, one item a thread; thread blocks stride over them.'],
    [/^ *if \(round % 64u == 0u/, 'Now and then: has the host cancelled the launch?'],
    ...itemNotes,
  ],
  persistent: [
    [
      /atomicExch\(\(u64 \*\)state \+ HAS_WATCH/,
      'The watch is the first thread block to arrive. It copies new entries to the device and passes on orders, and it',
      'stays until no other thread block is left. It alone reads the host’s memory: that takes a microsecond.',
    ],
    [/^ *u32 processor = 0u;/, 'Thread blocks on multiprocessors that are not the grid’s leave at once.'],
    [
      /^ *ticket = \(u64\)-1;/,
      'One thread takes the next part, waits until its entry is there, and tells the others. A part that was taken is',
      'dropped only when the watch has passed on an order, after which no more entries arrive.',
    ],
    [/^ *const u64 number = ticket >> partsLog;/, 'The entry of this part.'],
    [/^ *const u32 least = /, 'Blocks of 256 items, one item a thread; the parts of an entry stride over them.'],
    [/^ *if \(round % 64u == 63u/, 'Now and then: has the host ordered the grid to stop?'],
    [
      /^ *if \(__any_sync\(4294967295u, stopped\)\) break;/,
      'The thread block that finishes an entry’s last part publishes the entry: hits, fence, flag.',
    ],
    ...itemNotes,
  ],
};

/** Adds comments to a kernel's body: notes, and the rounds of the two hashes. */
function annotate(body: readonly string[], pipeline: CuPipeline): string[] {
  const lines = markRounds(body).flatMap((line) => {
    const [, ...comment] = notes[pipeline].find(([before]) => before.test(line)) ?? [];
    const indent = /^ */.exec(line)?.[0] ?? '';
    return [...comment.map((text) => `${indent}// ${text}`), line];
  });
  const missing = notes[pipeline].filter(([before]) => body.filter((line) => before.test(line)).length !== 1);
  if (missing.length > 0) throw new TypeError(`the kernel has not one line for ${missing.map(([before]) => before)}`);
  return lines;
}

/** Marks the lines that add a round's constant. Constant message words are already in it. */
function markRounds(body: readonly string[]): string[] {
  const constants = [roundConstants.map(hex32), roundConstants.map(hex32)] as [string[], string[]];
  const fold = (hash: 0 | 1, round: number, word: number) => {
    constants[hash][round] = hex32(((roundConstants[round] ?? 0) + word) >>> 0);
  };
  fold(0, 15, 640); // the header's length in bits
  fold(1, 8, 0x80000000); // the bit after the first hash
  fold(1, 15, 256); // its length
  let [hash, last] = [0 as 0 | 1, 0];
  return body.map((line) => {
    const literals = [...line.matchAll(/0x([0-9a-f]+)u/g)].map(([, digits = '']) => digits.padStart(8, '0'));
    if (hash === 0 && last === 63) hash = 1;
    const round = literals.map((digits) => constants[hash].indexOf(digits)).find((at) => at > 0);
    if (round === undefined) return line;
    last = round;
    return `${line}  // hash ${hash + 1}, round ${round}`;
  });
}
