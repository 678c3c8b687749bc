import { clockNs } from '../device/clock.js';
import type { Device, DeviceBuffer, Report, Stream } from '../device/device.js';
import { cell, type Expr, items, type Kernel, loop, read, rw, u32 } from '../kernel/index.js';

/** Limits that bound work on a device. Each is measured as the highest rate of several runs. */
export type Limit = 'write' | 'copy' | 'to device' | 'to host' | 'integer';

export const limitUnits: Readonly<Record<Limit, string>> = {
  write: 'B',
  copy: 'B',
  'to device': 'B',
  'to host': 'B',
  integer: 'op',
};

/**
 * Measures a device's limit, in units per second.
 *
 *   write      bytes stored into its memory by a kernel, or by the runtime's own fill
 *   copy       bytes read and written, both counted
 *   to device  bytes from the host's (page-locked) memory; `to host` the other way
 *   integer    additions, rotations and three-input logic of 32 bits, a third each, as in hash functions
 */
export async function measureLimit(device: Device, limit: Limit): Promise<number> {
  const stream = device.stream();
  const resources: { free(): void }[] = [];
  try {
    const trials = await trialsByLimit[limit](device, stream, resources);
    let maxRate = 0;
    // WebGPU's clock is sometimes wrong by a factor of a hundred and does not cover writes, so the host's clock is used.
    const usesHostClock = device.info.kind === 'webgpu';
    for (const { work, queue, isShort = false } of trials) {
      let times = 1;
      for (let run = 0; run < RUNS; run++) {
        const begunNs = clockNs();
        for (let time = 0; time < times; time++) queue();
        const report = await stream.mark().done;
        const seconds = usesHostClock ? Number(clockNs() - begunNs) / 1e9 : secondsOf(report);
        maxRate = Math.max(maxRate, (work * times) / seconds);
        if (usesHostClock && isShort) times = Math.min(MAX_SHORT_RUNS, Math.ceil((HOST_SECONDS * times) / seconds));
      }
    }
    return maxRate;
  } finally {
    for (const resource of resources) resource.free();
    stream.close();
  }
}

/** One measurement: its amount of work, and the commands that do it. */
interface LimitTrial {
  readonly work: number;
  queue(): void;
  /** True if it is too short for the host's clock: then several are timed together. */
  readonly isShort?: boolean;
}

type LimitTrials = (device: Device, stream: Stream, held: { free(): void }[]) => Promise<readonly LimitTrial[]>;

/** The first is a warm-up; the highest rate counts. */
const RUNS = 6;
/** Short trials are timed together until they take `HOST_SECONDS`, but at most this many. */
const MAX_SHORT_RUNS = 256;
const HOST_SECONDS = 0.02;

const trialsByLimit: Readonly<Record<Limit, LimitTrials>> = {
  write: async (device, stream, held) => {
    const [out] = await allocBuffers(device, 1, held);
    const job = await compileJob(device, writeKernel(quadsOf(device)));
    const count = out.bytes / 16 / quadsOf(device);
    return [
      { work: out.bytes, queue: () => stream.launch({ job, count, buffers: { out } }), isShort: true },
      { work: out.bytes, queue: () => stream.fill(out, 0x5a5a_5a5a), isShort: true },
    ];
  },
  copy: async (device, stream, held) => {
    const [from, out] = await allocBuffers(device, 2, held);
    const job = await compileJob(device, copyKernel(quadsOf(device)));
    const count = out.bytes / 16 / quadsOf(device);
    return [
      { work: 2 * out.bytes, queue: () => stream.launch({ job, count, buffers: { from, out } }), isShort: true },
      { work: 2 * out.bytes, queue: () => stream.copy(from, out, out.bytes), isShort: true },
    ];
  },
  'to device': (device, stream, held) => transferTrials(device, held, (buffer, bytes) => stream.write(buffer, bytes)),
  'to host': (device, stream, held) => transferTrials(device, held, (buffer, bytes) => stream.read(buffer, bytes)),
  integer: async (device, stream, held) => {
    const job = await compileJob(device, integerKernel());
    let count = 2 ** 12;
    let out = await device.alloc(count * 4);
    held.push({ free: () => out.free() });
    const queue = (): void => stream.launch({ job, count, buffers: { out } });
    for (;;) {
      queue();
      const seconds = secondsOf(await stream.mark().done);
      if (seconds >= MIN_SECONDS || count >= 2 ** 26) break;
      count = Math.min(2 ** 26, count * (seconds < MIN_SECONDS / 8 ? 8 : 2));
      out.free();
      out = await device.alloc(count * 4);
    }
    return [{ work: count * ROUNDS * CHAINS * 3, queue }];
  },
};

const MIN_SECONDS = 0.05;

const secondsOf = ({ startedNs, endedNs }: Report): number => Math.max(1, Number(endedNs - startedNs)) / 1e9;

/** Adjacent quads per item: a GPU merges the stores of a warp, a CPU core does not. */
const quadsOf = ({ info }: Device): number => (info.processor === 'gpu' ? 1 : 16);

/** Allocates buffers larger than the caches, at most an eighth of the memory each. */
async function allocBuffers<N extends 1 | 2>(device: Device, count: N, held: { free(): void }[]) {
  const { processor, memoryBytes, limits } = device.info;
  const preferredBytes = processor === 'gpu' ? 2 ** 30 : 2 ** 28;
  const bytes = 2 ** Math.floor(Math.log2(Math.min(preferredBytes, memoryBytes / 8, limits.bufferBytes)));
  const made: DeviceBuffer[] = [];
  for (let k = 0; k < count; k++) {
    const buffer = await device.alloc(bytes);
    made.push(buffer);
    held.push(buffer);
  }
  return made as N extends 1 ? [DeviceBuffer] : [DeviceBuffer, DeviceBuffer];
}

async function transferTrials(
  device: Device,
  held: { free(): void }[],
  transfer: (buffer: DeviceBuffer, bytes: Uint8Array) => void,
): Promise<readonly LimitTrial[]> {
  const bytes = 2 ** 26;
  const buffer = await device.alloc(bytes);
  held.push(buffer);
  const host = await device.host(bytes);
  held.push(host);
  return [{ work: bytes, queue: () => transfer(buffer, host.bytes) }];
}

const compileJob = async (device: Device, kernel: Kernel) => (await device.compile(kernel)).bind({});

const quad = (first: Expr<'u32'>): [Expr<'u32'>, Expr<'u32'>, Expr<'u32'>, Expr<'u32'>] => [
  first,
  first.add(1),
  first.add(2),
  first.add(3),
];

const writeKernel = (quads: number): Kernel =>
  items('write', { buffers: { out: rw(u32) }, lanes: 1 }, ({ item, buffers: { out } }) => {
    const first = item.mul(quads);
    for (let k = 0; k < quads; k++) out.set4(first.add(k), quad(item));
  });

const copyKernel = (quads: number): Kernel =>
  items('copy', { buffers: { from: read(u32), out: rw(u32) }, lanes: 1 }, ({ item, buffers: { from, out } }) => {
    const first = item.mul(quads);
    for (let k = 0; k < quads; k++) out.set4(first.add(k), from.at4(first.add(k)));
  });

/** Independent chains of operations, so that an operation does not wait for the previous one. */
const CHAINS = 4;
const ROUNDS = 1024;

const integerKernel = (): Kernel =>
  items('integer', { buffers: { out: rw(u32) } }, ({ item, buffers: { out } }) => {
    const cells = Array.from({ length: CHAINS }, (_, k) => cell('u32', item.add(k)));
    const other = item.xor(0x9e37_79b9);
    const third = item.mul(5);
    loop(ROUNDS / 16, () => {
      for (let k = 0; k < 16; k++) {
        for (const chain of cells)
          chain.set(
            chain
              .add(other)
              .rotl(7 + (k % 9))
              .xor(other)
              .xor(third),
          );
      }
    });
    out.set(
      item,
      cells.map((chain): Expr<'u32'> => chain).reduce((sum, chain) => sum.xor(chain)),
    );
  });
