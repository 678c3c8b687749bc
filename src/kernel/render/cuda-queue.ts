import { cudaArguments, nearMemory } from './cuda.js';
import { CANCEL_BLOCKS, GpuPrinter, type GpuText } from './gpu.js';
import type { GpuLanguage } from './gpu-language.js';
import type { GpuLayout } from './gpu-layout.js';

/**
 * The `queue` harness: a resident grid of one job that takes ranges while it runs. An entry is one range; `parts`
 * workgroups share it. Words of the launch block's header: parts of an entry, entries that the queue holds, words of one
 * ring (each entry has its own), spare. Job parameters follow as in `range`; those of the chunk come with each entry.
 *
 * Each word has one writer. In device memory: `head` (64 bits, the next part to be taken), `done` (per slot, parts that
 * are finished; the top bit says that one was stopped). In mapped memory, written by the host: `entries` (per slot the
 * last item, then the chunk's words), `tail` (64 bits, entries written so far; after the entry itself), `stop`. Written
 * by the grid: `results` (per slot, 1 complete, 2 stopped), `rings`, and `flags` (per slot, 64 bits, the entry's number
 * plus 1), after the results they announce. The only place with fences of system scope.
 */
export const QUEUE_ENTRY = 'millrace_queue';

/** Words of an entry. */
export const queueEntryWords = ({ program }: GpuLayout): number => 1 + program.chunkWords;

export function renderCudaQueue(layout: GpuLayout, language: GpuLanguage): GpuText {
  const printer = new GpuPrinter(layout, language);
  const { body } = printer;
  const { program, shape } = layout;
  const { parametersAt } = shape.launch;
  const words = queueEntryWords(layout);
  body.braces(head(layout), () => {
    printer.lines([
      ...nearMemory(layout),
      '__shared__ u64 ticket;',
      `__shared__ u32 entry[${words}];`,
      'const u32 thread = threadIdx.x;',
      `const u32 parts = ${language.entry.word(layout, 0)}, capacity = ${language.entry.word(layout, 1)}, ringWords = ${language.entry.word(layout, 2)};`,
    ]);
    printer.parameters(parametersAt, (word) => word < program.jobWords);
    printer.tables();
    body.braces('for (;;)', () => {
      printer.lines(take(words, shape.workgroup));
      printer.parameters(
        parametersAt,
        (word) => word >= program.jobWords,
        (word) => `entry[${1 + word - program.jobWords}]`,
      );
      if (program.hit.length > 0) body.line('u32 *const b_ring = rings + (u64)slot * ringWords;');
      printer.work([
        `if (round % ${CANCEL_BLOCKS[program.kind]}u == 0u && __syncthreads_or(thread == 0u && *stop != 0u)) {`,
        '  stopped = true;',
        '  break;',
        '}',
      ]);
      printer.lines(publish);
    });
  });
  return printer.finish();
}

function head({ shape, program }: GpuLayout): string {
  const shared = new Set(['launch', 'tables']);
  const bound = cudaArguments(shape).filter((_, i) => {
    const { kind, name, type } = shape.bindings[i] ?? {};
    return shared.has(kind ?? '') || (type !== undefined && name !== 'ring');
  });
  const queue = [
    'u64 *head',
    'u32 *done',
    'const volatile u32 *entries',
    'const volatile u64 *tail',
    'const volatile u32 *stop',
    'volatile u32 *results',
    'volatile u64 *flags',
    ...(program.hit.length > 0 ? ['u32 *rings'] : []),
  ];
  const [launch = '', ...rest] = bound;
  return `extern "C" __global__ void __launch_bounds__(${shape.workgroup}) ${QUEUE_ENTRY}(${[launch, ...queue, ...rest].join(', ')})`;
}

/** One thread takes a part and waits for its entry; the barrier tells the others. */
const take = (words: number, workgroup: number): string[] => [
  '__syncthreads();',
  'if (thread == 0u) {',
  '  const u64 taken = atomicAdd(head, 1ull);',
  '  bool go = true;',
  '  while (go && taken / parts >= *tail) {',
  '    go = *stop == 0u;',
  '    __nanosleep(500u);',
  '  }',
  '  __threadfence_system();',
  '  ticket = go ? taken : (u64)-1;',
  '}',
  '__syncthreads();',
  'if (ticket == (u64)-1) break;',
  'const u64 number = ticket / parts;',
  'const u32 slot = (u32)(number % capacity), group = (u32)(ticket % parts), groups = parts;',
  `for (u32 i = thread; i < ${words}u; i += ${workgroup}u) entry[i] = entries[(u64)slot * ${words}u + i];`,
  '__syncthreads();',
  'const u32 last = entry[0];',
  'bool stopped = false;',
];

/** Who finishes an entry's last part publishes it: results, fence, flag. */
const publish: readonly string[] = [
  '__threadfence_system();',
  '__syncthreads();',
  'if (thread == 0u) {',
  '  if (stopped) atomicOr(&done[slot], 0x80000000u);',
  '  const u32 before = atomicAdd(&done[slot], 1u);',
  '  if ((before & 0x7fffffffu) == parts - 1u) {',
  '    done[slot] = 0u;',
  '    results[slot] = before >> 31 ? 2u : 1u;',
  '    __threadfence_system();',
  '    flags[slot] = number + 1u;',
  '  }',
  '}',
];
