import type { Device, DeviceInfo } from '../../../device/device.js';
import { type Flow, flow } from '../../../engine/flow/flow.js';
import type { Setting } from '../../../engine/tune/tune.js';
import type { Kernel } from '../../../kernel/index.js';
import { wordPieces } from '../kernel/kernel.js';
import type { Plan } from '../kernel/plan.js';
import { RUN, wordRuns } from '../kernel/runs.js';

/** Returns the flow that makes the words of a mask: an index is a word, a chunk is one launch and one copy to the host. */
export function wordFlow(plan: Plan, { batchBytes, words, first = 0n, tuned }: WordFlowOptions): Flow<Uint8Array> {
  return {
    name: 'words',
    open: async (device, options) => {
      const setting = { ...(await tuned?.(device)), ...(batchBytes !== undefined && { batchBytes }) };
      return openOn(device, plan, setting, words, first).open(device, options);
    },
  };
}

/** Tuned settings of a device (tune.ts). All settings make the same words. */
export interface WordSetting extends Setting {
  /** Bytes of a batch. */
  readonly batchBytes?: number;
  /** Quads per item (kernel.ts). */
  readonly quads?: number;
  /** Threads of a workgroup. */
  readonly lanes?: number;
}

export interface WordFlowOptions {
  /** Bytes of a batch; default by device. */
  readonly batchBytes?: number | undefined;
  /** The number of words, which limits the size of a batch. */
  readonly words: bigint;
  /** The index of the word at the engine's index 0. */
  readonly first?: bigint;
  /** Returns the tuned settings of a device, used unless others are given. */
  readonly tuned?: (device: Device) => Promise<WordSetting>;
}

/** One kernel for GPUs and one for CPUs, so that programs are shared. */
export const kernelOn = ({ info }: { readonly info: Pick<DeviceInfo, 'processor'> }): WordKernel =>
  kernels[info.processor];

interface WordKernel {
  /** Quads per item, and how many of them are read at a time (`Plan.withRun`). */
  readonly quads: number;
  readonly run: number;
  readonly kernel: Kernel;
}

const makers: Readonly<Record<'cpu' | 'gpu', (quads: number) => WordKernel>> = {
  cpu: (quads) => ({ quads, run: RUN, kernel: wordRuns(quads) }),
  gpu: (quads) => ({ quads, run: 1, kernel: wordPieces(quads) }),
};

const kernels: Readonly<Record<'cpu' | 'gpu', WordKernel>> = { cpu: makers.cpu(32), gpu: makers.gpu(1) };

const otherKernels = new Map<string, WordKernel>();

function kernelOf(device: Device, quads: number | undefined): WordKernel {
  const usual = kernelOn(device);
  if (quads === undefined || quads === usual.quads) return usual;
  const { processor } = device.info;
  const key = `${processor} ${quads}`;
  const known = otherKernels.get(key) ?? makers[processor](quads);
  otherKernels.set(key, known);
  return known;
}

/**
 * A CPU's batch stays in its last-level cache between the kernel, the copy and the pipe, and is large enough that the
 * engine's 0.4 ms per batch matter little (3.2 GB to a pipe: 5.4 processor seconds with 2 MiB, 4.5 with 4, 3.6 with 8, 3.4
 * with 16). Many threads make 8 MiB in less time than that, so a batch grows with them. A GPU's batch is large enough for
 * the bus's full rate (PCIe 5: 48 GB/s with 8 MiB, 55 from 32 MiB on) and for few gaps between copies: of 100 M words to an
 * H200's host, 32 MiB lose 4.8 %, 64 MiB 0.7 %.
 */
const defaultBatchBytes = ({ info: { processor, units } }: Device): number =>
  processor === 'cpu' ? Math.min(32, Math.max(8, 2 * units)) << 20 : 64 << 20;

/** Returns the items and quads of `words` words. */
export function launchExtent(plan: Plan, quadsPerItem: number, words: number) {
  const bytes = words * plan.stride;
  const items = Math.ceil(bytes / 16 / quadsPerItem);
  return { bytes, items, quads: items * quadsPerItem };
}

function openOn(
  device: Device,
  mask: Plan,
  { batchBytes = defaultBatchBytes(device), quads: requestedQuads, lanes }: WordSetting,
  words: bigint,
  base: bigint,
): Pick<Flow<Uint8Array>, 'open'> {
  const { quads, run, kernel } = kernelOf(device, requestedQuads);
  const plan = mask.withRun(run);
  const fitting = Math.max(1, Math.floor(batchBytes / plan.stride));
  const max = words < BigInt(fitting) ? Number(words) : fitting;
  const capacityQuads = launchExtent(plan, quads, max).quads;
  return flow<Uint8Array>({
    name: 'words',
    kernels: { words: kernel },
    ...(lanes !== undefined && { compile: { lanes } }),
    job: { words: plan.job },
    shared: { near: plan.near, middle: plan.middle },
    buffers: { out: capacityQuads * 16, far: plan.farBytes(capacityQuads) },
    host: { rows: capacityQuads * 16, far: plan.farBytes(capacityQuads) },
    inPlace: { out: 'rows' },
    steps: ({ start, count }, { rows, far }) => {
      const extent = launchExtent(plan, quads, count);
      const params = plan.launch(base + start, extent.quads, far as Uint8Array);
      return [
        { do: 'write', buffer: 'far', data: params.far },
        { do: 'launch', kernel: 'words', base: 0n, count: extent.items, chunk: params.chunk },
        { do: 'read', buffer: 'out', into: (rows as Uint8Array).subarray(0, extent.bytes) },
      ];
    },
    reap: ({ count }, { host }) => (host.rows as Uint8Array).subarray(0, count * plan.stride),
    granularity: Math.min(plan.align, max),
    max,
    // The first chunk is a quarter of the stride, so a whole batch: even a slow device completes a batch quickly.
    stride: () => 4 * max,
  });
}
