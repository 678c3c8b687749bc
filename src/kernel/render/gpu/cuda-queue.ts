import { ONE_FIELD, RING_CAPACITY_FIELD, ringLayout } from '../../abi/harness.js';
import {
  GridOrder,
  IDLE_TIMEOUT_NS,
  QUEUE_ENTRY_POINT,
  QUEUE_TIMES,
  QueueControl,
  QueueHeader,
  QueueState,
} from '../../abi/resident-abi.js';
import type { HoistedProgram } from '../../ir/program.js';
import { cudaArguments, nearMemory } from './cuda.js';
import { CANCEL_BLOCKS, GpuPrinter, type GpuText } from './gpu.js';
import type { GpuLanguage } from './language.js';
import type { GpuLayout } from './layout.js';

/** Returns the number of words of an entry. */
export const queueEntryWords = ({ program }: Pick<GpuLayout, 'program'>): number => 1 + program.chunkWords;

/** Workgroup memory that the harness needs in addition to the kernel's, for entries of up to 900 parameters. */
export const QUEUE_NEAR_BYTES = 4096;

/**
 * Prints the `queue` harness: a resident grid of one job that takes ranges while it runs (`resident-abi.ts` describes the
 * memory shared with the host). This is the only place with fences of system scope.
 */
export function renderCudaQueue(layout: GpuLayout, language: GpuLanguage): GpuText {
  const printer = new GpuPrinter(layout, language, []); // the workgroups of a grid stop together, between items
  const { body } = printer;
  const { program, shape } = layout;
  const { parametersAt } = shape.launch;
  const words = queueEntryWords(layout);
  const header = (word: keyof typeof QueueHeader): string => language.entry.word(layout, QueueHeader[word]);
  body.braces(head(layout), () => {
    printer.lines([
      ...nearMemory(layout),
      '__shared__ u64 ticket;',
      `__shared__ u32 entry[${words}];`,
      'const u32 thread = threadIdx.x;',
      `const u32 partsLog = ${header('partsLog')}, parts = 1u << partsLog, slots = (1u << ${header('capacityLog')}) - 1u, ringWords = ${header('ringWords')}, epoch = ${header('epoch')};`,
      ...watch(words, shape.workgroup),
      'u32 processor = 0u;',
      'asm volatile("mov.u32 %0, %%smid;" : "=r"(processor));',
      `if (${uniformCondition(`processor % ${header('processors')} - ${header('firstProcessor')} >= ${header('ownProcessors')}`, shape.workgroup)}) return;`,
      `if (thread == 0u) atomicAdd((u64 *)state + ${runningGroups}, 1ull);`,
    ]);
    const fixed = fixedWords(program);
    const isOfEntry = (word: number): boolean => word >= program.jobWords && !fixed.has(word);
    printer.declareParameters(parametersAt, (word) => !isOfEntry(word));
    printer.fillTables();
    body.braces('for (;;)', () => {
      printer.lines(take(shape.workgroup));
      printer.lines(fetchLines(words, shape.workgroup));
      if (program.hit.length > 0) body.line('u32 *const b_ring = found + (u64)slot * ringWords;');
      const every = CANCEL_BLOCKS[program.kind];
      // Read again in each round: 22 values kept in registers would cost one workgroup of six per processor.
      const names = (): void =>
        printer.declareParameters(parametersAt, isOfEntry, (word) => `entry[${1 + word - program.jobWords}]`);
      const stop = [
        `if (round % ${every}u == ${every - 1}u && ${uniformCondition(`__syncthreads_or(thread == 0u && state[${ORDER}] == ${GridOrder.stop}ull)`, shape.workgroup)}) {`,
        '  stopped = true;',
        '  break;',
        '}',
      ];
      printer.printLoop(stop, names);
      printer.lines(publish(program.hit.length > 0, ringRecord(layout), shape.workgroup));
    });
  });
  return printer.finish();
}

/** Returns the chunk words that are the same for all entries: the ring's capacity, and 1. */
function fixedWords({ params }: HoistedProgram): ReadonlySet<number> {
  const fixed = params.filter(
    ({ node }) => node.op === 'chunk' && (node.detail.field === RING_CAPACITY_FIELD || node.detail.field === ONE_FIELD),
  );
  return new Set(fixed.map(({ word }) => word));
}

function head({ shape, program }: GpuLayout): string {
  const shared = new Set(['launch', 'tables']);
  const bound = cudaArguments(shape).filter((_, i) => {
    const { kind, name, type } = shape.bindings[i] ?? {};
    return shared.has(kind ?? '') || (type !== undefined && name !== 'ring');
  });
  const queue = [
    'volatile u64 *state',
    'u32 *done',
    'volatile u32 *queue',
    ...(program.hit.length > 0 ? ['u32 *found'] : []),
    'const volatile u32 *control',
    'const volatile u32 *entries',
    'volatile u64 *times',
    'volatile u64 *flags',
    ...(program.hit.length > 0 ? ['volatile u32 *rings'] : []),
  ];
  const [launch = '', ...rest] = bound;
  return `extern "C" __global__ void __launch_bounds__(${shape.workgroup}) ${QUEUE_ENTRY_POINT}(${[launch, ...queue, ...rest].join(', ')})`;
}

/** Returns the number of words before a ring's records, and of one record. */
const ringRecord = ({ program }: GpuLayout): { header: number; record: number } => {
  const { headerWords, recordWords } = ringLayout(program);
  return { header: headerWords, record: recordWords };
};

const { head: HEAD, entriesSeen, hasWatch, order: ORDER, lastFinished, runningGroups } = QueueState;
const control = (word: keyof typeof QueueControl): string => `*(const volatile u64 *)(control + ${QueueControl[word]})`;
/**
 * Returns a condition on which all threads agree, in a form that the compiler recognizes. Otherwise the compiler assumes
 * that a warp can diverge, and uniform values cannot stay in uniform registers: SHA-256d at 7.0 GH/s on an H200.
 */
const uniformCondition = (condition: string, workgroup: number): string =>
  `__any_sync(${workgroup < 32 ? 2 ** workgroup - 1 : 0xffff_ffff}u, ${condition})`;
/** Copies are short: unrolled, they would need more registers than the kernel. */
const NO_UNROLL = '#pragma unroll 1';
const readClock = (name: string): string => `asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(${name}));`;

/**
 * Prints the watch, which is the first workgroup to arrive. It copies entries when the tail has risen, then publishes their
 * number. It forwards orders, and stays until no workgroup is left that might need one. Epoch (low word) and order (high
 * word) are read in one access.
 */
const watch = (words: number, workgroup: number): string[] => [
  `if (${uniformCondition(`__syncthreads_or(thread == 0u && atomicExch((u64 *)state + ${hasWatch}, 1ull) == 0ull)`, workgroup)}) {`,
  '  __shared__ u32 told;',
  '  u64 since = 0ull, now = 0ull, known = 0ull;',
  `  ${readClock('since')}`,
  '  for (;;) {',
  '    __syncthreads();',
  '    if (thread == 0u) {',
  `      const u64 there = ${control('tail')}, ordered = ${control('epoch')} ^ (u64)epoch;`,
  `      ${readClock('now')}`,
  '      if (there != known) since = now;',
  `      const bool isIdle = now - since > ${IDLE_TIMEOUT_NS}ull && now - state[${lastFinished}] > ${IDLE_TIMEOUT_NS}ull;`,
  `      told = (ordered & 0xfffffffeffffffffull) != 0ull ? ${GridOrder.stop}u : ordered != 0ull || isIdle ? ${GridOrder.leave}u : (u32)state[${ORDER}];`,
  '      ticket = told == 0u ? there : known;',
  `      if (told != 0u) state[${ORDER}] = told;`,
  `      if (told == ${GridOrder.leave}u && state[${runningGroups}] == 0ull) told = ${GridOrder.stop}u;`,
  '    }',
  '    __syncthreads();',
  `    if (told == ${GridOrder.stop}u) return;`,
  '    const u64 there = ticket;',
  '    if (there == known) {',
  '      __nanosleep(500u);',
  '      continue;',
  '    }',
  '    __threadfence_system();',
  '    if (there - known > slots) known = there - slots - 1ull;',
  NO_UNROLL,
  `    for (u32 i = thread; i < (u32)(there - known) * ${words}u; i += ${workgroup}u) {`,
  `      const u32 at = ((u32)(known + i / ${words}u) & slots) * ${words}u + i % ${words}u;`,
  '      queue[at] = entries[at];',
  '    }',
  '    __threadfence();',
  '    __syncthreads();',
  '    if (thread == 0u) {',
  `      ${NO_UNROLL}`,
  `      for (u64 n = known; n < there; n++) times[${QUEUE_TIMES}u * ((u32)n & slots) + 2u] = now;`,
  `      state[${entriesSeen}] = there;`,
  '    }',
  '    known = there;',
  '  }',
  '}',
];

/**
 * Prints the code that takes a part. One thread takes the next part and waits for its entry; the barrier passes it to the
 * others. A workgroup may leave before it takes a part. A part that was taken is dropped only if all workgroups agree on
 * it: once the watch has given the order to leave, `entriesSeen` no longer changes. The parts of an entry are therefore
 * all done or all dropped.
 */
const take = (workgroup: number): string[] => [
  '__syncthreads();',
  'if (thread == 0u) {',
  '  ticket = (u64)-1;',
  `  if (state[${ORDER}] == 0ull) {`,
  `    const u64 taken = atomicAdd((u64 *)state + ${HEAD}, 1ull), wanted = taken >> partsLog;`,
  '    bool go = true;',
  `    while (go && wanted >= state[${entriesSeen}]) {`,
  `      if (state[${ORDER}] != 0ull) {`,
  '        __threadfence();',
  `        go = wanted < state[${entriesSeen}];`,
  '        break;',
  '      }',
  '      __nanosleep(1000u);',
  '    }',
  '    __threadfence();',
  '    if (go) ticket = taken;',
  '  }',
  `  if (ticket == (u64)-1) atomicAdd((u64 *)state + ${runningGroups}, (u64)-1);`,
  '}',
  '__syncthreads();',
  `if (${uniformCondition('ticket == (u64)-1', workgroup)}) break;`,
];

const fetchLines = (words: number, workgroup: number): string[] => [
  'const u64 number = ticket >> partsLog;',
  'const u32 slot = (u32)number & slots, group = (u32)ticket & (parts - 1u), groups = parts;',
  NO_UNROLL,
  `for (u32 i = thread; i < ${words}u; i += ${workgroup}u) entry[i] = queue[slot * ${words}u + i];`,
  'if (thread == 0u && group == 0u) {',
  '  u64 began = 0ull;',
  `  ${readClock('began')}`,
  `  times[${QUEUE_TIMES}u * slot] = began;`,
  '}',
  '__syncthreads();',
  'const u32 first = 0u, last = entry[0];',
  'bool stopped = false;',
];

/**
 * Prints the code of the workgroup that finishes an entry's last part. It publishes the entry: hits, fence, flag. The ring
 * on the device takes hits at the speed of the device's memory and is copied once: 2^26 hits counted over the bus would take
 * seconds.
 */
const publish = (
  emits: boolean,
  { header, record }: { header: number; record: number },
  workgroup: number,
): string[] => [
  `if (${uniformCondition('stopped', workgroup)}) break;`,
  '__threadfence();',
  '__syncthreads();',
  `if (${uniformCondition('__syncthreads_or(thread == 0u && atomicAdd(&done[slot], 1u) == parts - 1u)', workgroup)}) {`,
  '  __threadfence();',
  ...(emits
    ? [
        '  const volatile u32 *const own = b_ring;',
        '  volatile u32 *const copy = rings + (u64)slot * ringWords;',
        `  const u64 used = ${header}ull + (u64)own[0] * ${record}ull;`,
        NO_UNROLL,
        `  for (u32 i = thread; i < (used < ringWords ? (u32)used : ringWords); i += ${workgroup}u) copy[i] = own[i];`,
      ]
    : []),
  '  __threadfence_system();',
  '  __syncthreads();',
  '  if (thread == 0u) {',
  ...(emits ? ['    *(volatile u32 *)b_ring = 0u;'] : []),
  '    *(volatile u32 *)&done[slot] = 0u;',
  '    u64 ended = 0ull;',
  `    ${readClock('ended')}`,
  `    times[${QUEUE_TIMES}u * slot + 1u] = ended;`,
  `    state[${lastFinished}] = ended;`,
  '    __threadfence_system();',
  '    flags[slot] = number + 1ull;',
  '  }',
  '}',
];
