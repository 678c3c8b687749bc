import type { Buffers, Fields, Kernel } from '../../kernel/index.js';
import { type Checked, checkedFlow, checkReach, endsOf } from '../flow/checked.js';
import { type Flow, flow } from '../flow/flow.js';
import type { InputValues, RequiredIfDeclared } from '../flow/values.js';
import { MemorySource, toRange } from '../work/source.js';
import { launchBase, type Piece, type Range } from '../work/space.js';
import { BATCH_BYTES, type Batches, type BatchOptions, batches } from './batches.js';
import { checkRows, dataSizes, outputOf, paddedBytes, rowsPerBatch } from './buffer-choice.js';

/**
 * Makes `rowBytes` bytes from each index:
 *
 *   for await (const batch of generate(kernel, { space: 10n ** 9n, rowBytes: 16, job: { … } })) {
 *     await file.write(batch.bytes);
 *     batch.release();
 *   }
 *
 * Batches come in order and tile the space. The kernel writes item i's row at `i × rowBytes` of its output buffer.
 */
export function generate<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: GenerateOptions<J, C>,
): Batches {
  const range = toRange(options.space);
  return batches({
    flow: generateFlow(kernel, options, range),
    options,
    check: () => {
      const { job, buffers, items, rowBytes } = options;
      const output = outputOf(kernel, options.output);
      const sizes = dataSizes(kernel, buffers, [output]);
      if (items) return;
      checkReach(kernel, endsOf(job, range), sizes);
      checkRows(kernel, job, range.start, { [output]: rowBytes });
    },
    isPerRow: options.items === undefined,
    source: () => new MemorySource(range),
    row: (index, bytes) => ({ index, bytes }),
  });
}

export type GenerateOptions<J extends Fields, C extends Fields> = BatchOptions<Row> &
  RequiredIfDeclared<'job', J, InputValues<J>> &
  RequiredIfDeclared<'chunk', C, (piece: Piece) => InputValues<C>> & {
    /** A number of indices from 0, or a range; up to 2^128. */
    readonly space: bigint | number | Range;
    /** The buffer that rows are written to. Default: the only one the kernel writes. */
    readonly output?: string;
    /** Data for the kernel's other buffers, written once to each device. */
    readonly buffers?: Readonly<Record<string, ArrayBufferView>>;
    /**
     * Returns the number of items that make the rows of a piece. Default: one item per row. If given, `index` counts
     * from 0 in each batch, and the kernel gets its position in the space only from its chunk values.
     */
    readonly items?: (piece: Piece) => number;
    readonly granularity?: number;
    /** Which chunks run in a checked build. Default `first`: each device's first chunk. */
    readonly checked?: Checked;
  };

export interface Row {
  readonly index: bigint;
  readonly bytes: Uint8Array;
}

function generateFlow<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: GenerateOptions<J, C>,
  { length }: Range,
): Flow<Uint8Array> {
  const { job, chunk, buffers, items, rowBytes, granularity, batchBytes = BATCH_BYTES } = options;
  const output = outputOf(kernel, options.output);
  const max = rowsPerBatch(rowBytes, batchBytes, length);
  const bytes = paddedBytes(max, rowBytes);
  return flow<Uint8Array>({
    name: kernel.name,
    kernels: { [kernel.name]: kernel },
    job: { [kernel.name]: (job ?? {}) as InputValues<Fields> },
    buffers: { [output]: bytes },
    host: { rows: bytes },
    steps: (piece, { rows }) => [
      {
        do: 'launch',
        kernel: kernel.name,
        base: items ? 0n : launchBase(piece).base,
        count: items?.(piece) ?? piece.count,
        ...(chunk && { chunk: chunk(piece) as InputValues<Fields> }),
      },
      { do: 'read', buffer: output, into: (rows as Uint8Array).subarray(0, piece.count * rowBytes) },
    ],
    reap: ({ count }, { host }) => (host.rows as Uint8Array).subarray(0, count * rowBytes),
    max,
    ...checkedFlow(options.checked),
    ...(buffers && { shared: buffers }),
    ...(granularity !== undefined && { granularity }),
  });
}
