import type { Buffers, Fields, Kernel } from '../../kernel/index.js';
import { type Checked, checkedFlow } from '../flow/checked.js';
import { type Flow, type FlowStep, flow } from '../flow/flow.js';
import type { InputValues, RequiredIfDeclared } from '../flow/values.js';
import { MAX_INDICES, type Piece } from '../work/space.js';
import { BATCH_BYTES, type Batches, type BatchOptions, batches } from './batches.js';
import { checkRows, dataSizes, inputOf, outputOf, paddedBytes, rowsPerBatch } from './buffer-choice.js';
import { type InputRows, InputSource } from './row-source.js';

/**
 * Makes rows from rows. Input batches have any size; output batches come in the same order, sized for the devices.
 *
 *   for await (const batch of transform(kernel, source, { inputBytes: 8, rowBytes: 16 })) …
 *
 * The kernel reads item i's row at `i × inputBytes` of its input buffer and writes at `i × rowBytes` of its output
 * buffer. The input must not change until its rows have come out. However the loop is left, the input is ended by its
 * iterator's `return`, so that a generator can close its file.
 */
export function transform<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  source: InputRows,
  options: TransformOptions<J, C>,
): Batches {
  const { inputBytes, rowBytes, batchBytes = BATCH_BYTES } = options;
  const max = rowsPerBatch(Math.max(inputBytes, rowBytes), batchBytes, MAX_INDICES);
  const input = new InputSource(source, inputBytes, READ_AHEAD_BATCHES * max);
  return batches({
    flow: transformFlow(kernel, options, input, max),
    options,
    check: () => {
      const read = inputOf(kernel, options.input, Object.keys(options.buffers ?? {}));
      const written = outputOf(kernel, options.output);
      dataSizes(kernel, options.buffers, [read, written]);
      if (options.items) return;
      checkRows(kernel, options.job, 0n, { [read]: inputBytes, [written]: rowBytes });
    },
    isPerRow: options.items === undefined,
    source: () => input,
    row: (index, bytes) => ({ index, bytes, input: input.row(index) }),
  });
}

export type TransformOptions<J extends Fields, C extends Fields> = BatchOptions<TransformedRow> &
  RequiredIfDeclared<'job', J, InputValues<J>> &
  RequiredIfDeclared<'chunk', C, (piece: Piece) => InputValues<C>> & {
    /** Bytes of input per row. */
    readonly inputBytes: number;
    /** The buffers that rows are read from and written to. Default: the only candidates. */
    readonly input?: string;
    readonly output?: string;
    /** Data for the kernel's other buffers, written once to each device. */
    readonly buffers?: Readonly<Record<string, ArrayBufferView>>;
    /** Returns the number of items, or tiles, that make the rows of a piece. Default: one per row. */
    readonly items?: (piece: Piece) => number;
    readonly granularity?: number;
    /** Which chunks run in a checked build. Default `first`: each device's first chunk. */
    readonly checked?: Checked;
  };

export interface TransformedRow {
  readonly index: bigint;
  readonly input: Uint8Array;
  readonly bytes: Uint8Array;
}

/** Input that is read ahead, in batches of maximum size: enough for all slots of several devices. */
const READ_AHEAD_BATCHES = 16;

function transformFlow<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: TransformOptions<J, C>,
  source: InputSource,
  max: number,
): Flow<Uint8Array> {
  const { job, chunk, buffers = {}, items, rowBytes, inputBytes, granularity } = options;
  const output = outputOf(kernel, options.output);
  const input = inputOf(kernel, options.input, Object.keys(buffers));
  const outBytes = paddedBytes(max, rowBytes);
  const inBytes = paddedBytes(max, inputBytes);
  return flow<Uint8Array>({
    name: kernel.name,
    kernels: { [kernel.name]: kernel },
    job: { [kernel.name]: (job ?? {}) as InputValues<Fields> },
    buffers: { [input]: inBytes, [output]: outBytes },
    // Rows that are not whole words cannot be written one array after the other, so they are joined first.
    host: { rows: outBytes, ...(inputBytes % 4 !== 0 && { joined: inBytes }) },
    shared: buffers,
    steps: (piece, { rows, joined }) => [
      ...writeSteps(source, piece, input, inputBytes, joined),
      {
        do: 'launch',
        kernel: kernel.name,
        count: items?.(piece) ?? piece.count,
        ...(chunk && { chunk: chunk(piece) as InputValues<Fields> }),
      },
      { do: 'read', buffer: output, into: (rows as Uint8Array).subarray(0, piece.count * rowBytes) },
    ],
    reap: ({ count }, { host }) => (host.rows as Uint8Array).subarray(0, count * rowBytes),
    max,
    ...checkedFlow(options.checked),
    ...(granularity !== undefined && { granularity }),
  });
}

function writeSteps(
  source: InputSource,
  piece: Piece,
  buffer: string,
  inputBytes: number,
  joined: Uint8Array | undefined,
): FlowStep[] {
  let offset = 0;
  const steps: FlowStep[] = [];
  for (const data of source.rows(piece)) {
    if (joined) joined.set(data, offset);
    else steps.push({ do: 'write', buffer, data, offset });
    offset += data.byteLength;
  }
  return joined ? [{ do: 'write', buffer, data: joined.subarray(0, piece.count * inputBytes) }] : steps;
}
