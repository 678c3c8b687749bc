import { LaunchHeader } from '../../kernel/abi/grid.js';
import type { LoweredGpuKernel } from '../../kernel/abi/lower-gpu.js';
import { QueueHeader, QueueState } from '../../kernel/abi/resident-abi.js';
import { queueEntryWords } from '../../kernel/render/gpu/cuda-queue.js';
import type { CuPipeline } from '../request.js';

/** A word of memory that the host and the kernel share: its index, its name and its meaning in the program. */
type Word = readonly [index: number, name: string, meaning: string];

/** Names in place of indices: of the launch block, of a grid's state, of an entry. */
export class WordNames {
  readonly #launch: readonly Word[];
  readonly #state: readonly Word[];
  readonly #entry: readonly Word[];
  readonly #jobAt: number;

  constructor({ shape, program }: LoweredGpuKernel, pipeline: CuPipeline) {
    const isQueue = pipeline === 'persistent';
    this.#jobAt = shape.launch.parametersAt;
    const chunk = program.params.filter(({ word }) => word >= program.jobWords);
    this.#launch = [
      ...(isQueue ? queueHeader : launchHeader),
      [this.#jobAt, 'JOB', "from here on, the block's words"],
      ...chunk.map(({ word, name }): Word => {
        const [text, meaning] = chunkWords[name] ?? [name, ''];
        return [this.#jobAt + word, text, meaning];
      }),
    ];
    this.#state = isQueue ? stateWords : [];
    const base = chunk.find(({ name }) => name === 'base_0')?.word ?? 0;
    this.#entry = isQueue
      ? [
          [0, 'ENTRY_LAST', 'the number of its last item'],
          [1 + base - program.jobWords, 'ENTRY_BASE', 'its first nonce'],
          [queueEntryWords({ program }), 'ENTRY_WORDS', ''],
        ]
      : [];
  }

  /** Returns the enumerations that declare the names. */
  get declarations(): string {
    const list = (title: string, type: string, words: readonly Word[]): string[] => {
      const width = Math.max(...words.map(([index, name]) => `${name}${index}`.length));
      const value = ([index, name]: Word) => `  ${name} = ${index},`.padEnd(width + 8);
      return [
        `// ${title}`,
        `enum ${type} {`,
        ...words.map((word) => (word[2] ? `${value(word)}// ${word[2]}` : value(word).trimEnd())),
        '};',
      ];
    };
    return [
      ...list('Words of a launch block.', 'LaunchWord', this.#launch),
      ...(this.#state.length > 0
        ? [
            '',
            ...list("Words of a grid's state, of 64 bits.", 'StateWord', this.#state),
            '',
            ...list('Words of an entry of the queue.', 'EntryWord', this.#entry),
          ]
        : []),
    ].join('\n');
  }

  /** Replaces the indices of a line of the kernel. */
  apply(line: string): string {
    const nameIn = (words: readonly Word[], index: number) => words.find(([at]) => at === index)?.[1];
    const launchName = (index: number) =>
      nameIn(this.#launch, index) ?? (index > this.#jobAt ? `JOB + ${index - this.#jobAt}` : String(index));
    const name = (words: readonly Word[], index: string) => nameIn(words, Number(index)) ?? index;
    return line
      .replaceAll(/\blaunch\.words\[(\d+)\]/g, (_, index) => `launch.words[${launchName(Number(index))}]`)
      .replaceAll(/\bstate\[(\d+)\]/g, (_, index) => `state[${name(this.#state, index)}]`)
      .replaceAll(/\bstate \+ (\d+)/g, (_, index) => `state + ${name(this.#state, index)}`)
      .replaceAll(/= entry\[(\d+)\];/g, (_, index) => `= entry[${name(this.#entry, index)}];`);
  }
}

const launchHeader: readonly Word[] = [
  [LaunchHeader.last, 'LAST', 'the number of the last item; an item is a nonce of the range'],
  [LaunchHeader.epoch, 'EPOCH', 'the launch stops when the word at cancel is another one'],
  [LaunchHeader.first, 'FIRST', 'the number of the first item, here 0'],
];

const queueHeader: readonly Word[] = [
  [QueueHeader.partsLog, 'PARTS_LOG', 'the logarithm of the number of parts of an entry'],
  [QueueHeader.capacityLog, 'SLOTS_LOG', 'the logarithm of the number of entries in the queue'],
  [QueueHeader.ringWords, 'WORDS_OF_RING', 'words of one ring of hits'],
  [QueueHeader.epoch, 'EPOCH', 'the lower half of the word with the order, here 0'],
  [QueueHeader.processors, 'PROCESSORS', 'multiprocessors of the GPU'],
  [QueueHeader.firstProcessor, 'FIRST_PROCESSOR', 'those that the grid may use, here all: the first'],
  [QueueHeader.ownProcessors, 'OWN_PROCESSORS', 'and their number'],
];

const chunkWords: Readonly<Record<string, readonly [name: string, meaning: string]>> = {
  base_0: ['BASE', 'the first nonce of the range'],
  ringCapacity: ['RING_CAPACITY', 'hits that fit a ring'],
  one: ['ONE', '1, see the generated code'],
};

const stateWords: readonly Word[] = [
  [QueueState.head, 'HEAD', 'the next part, counted over all entries'],
  [QueueState.entriesSeen, 'ENTRIES_SEEN', 'how many entries the watch has copied'],
  [QueueState.hasWatch, 'HAS_WATCH', '1 once a thread block is the watch'],
  [QueueState.order, 'ORDER', 'the order that the watch passes on'],
  [QueueState.lastFinished, 'LAST_FINISHED', 'when an entry was finished last'],
  [QueueState.runningGroups, 'RUNNING', 'thread blocks that are running'],
];
