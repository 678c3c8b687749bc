import { launchBlock } from '../../src/kernel/abi/grid.js';
import { JobParameters, type LoweredGpuKernel, lowerGpu } from '../../src/kernel/index.js';
import type { PipeShares } from '../../src/kernel/passes/arithmetic/balance-pipes.js';
import { headerScan } from '../../src/workload/block/kernel/kernel.js';

/** One way to compile and launch the SHA-256d kernel. */
export interface Variant {
  readonly name: string;
  readonly pipes: PipeShares;
  readonly workgroup?: number;
  /** Workgroups launched, as a multiple of those resident at once. */
  readonly waves?: number;
  readonly options?: readonly string[];
  /** An experimental change to the source that no pass makes. */
  readonly edit?: (text: string) => string;
}

export interface Prepared {
  readonly variant: Variant;
  readonly text: string;
  readonly workgroup: number;
  /** Launch blocks of a short and of a long scan. */
  readonly scans: readonly { readonly name: string; readonly count: number; readonly words: Uint32Array }[];
}

const best: PipeShares = { additions: 1, turns: true };
const none: PipeShares = { additions: 0, turns: false };
const percent = (share: number) => String(Math.round(100 * share));
const nameOf = ({ additions, turns }: PipeShares) => `${turns ? 'turns' : 'plain'}-a${percent(additions)}`;

const shares = [true, false].flatMap((turns) => [0, 0.25, 0.5, 0.75, 1].map((additions) => ({ additions, turns })));
const each = (make: (pipes: PipeShares, name: string) => Variant[]): Variant[] => make(best, nameOf(best));

export const variants: readonly Variant[] = [
  { name: 'base', pipes: none },
  ...shares.map((pipes) => ({ name: nameOf(pipes), pipes })),
  ...each((pipes, name) =>
    [64, 128, 512, 1024].map((workgroup) => ({ name: `${name}-w${workgroup}`, pipes, workgroup })),
  ),
  ...each((pipes, name) =>
    [32, 48, 64].map((registers) => ({
      name: `${name}-r${registers}`,
      pipes,
      options: [`-maxrregcount=${registers}`],
      edit: (text) => text.replace(/__launch_bounds__\(\d+\) /, ''),
    })),
  ),
  ...each((pipes, name) => [0.5, 2, 8, 64].map((waves) => ({ name: `${name}-x${waves}`, pipes, waves }))),
  // `one` in a register, as a third operand, which the factor `uniform` of the pass avoids
  ...each((pipes, name) => [
    { name: `${name}-register`, pipes, edit: (text) => text.replaceAll('p_one * p_one', 'p_one') },
  ]),
  // All warps of a workgroup start each item together, to test whether they share instruction fetches.
  ...each((pipes, name) => [
    { name: `${name}-together`, pipes, edit: (text) => text.replace(/round % \d+u == 0u/, 'round % 1u == 0u') },
  ]),
];

/** Bitcoin's first block: its header without the nonce, and the nonce that was found. */
const header =
  '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d';
export const NONCE = 2083236893;
const target = [0, 0xffff0000, 0, 0, 0, 0, 0, 0];
const RING_RECORDS = 1000;

/** Ranges of nonces that contain the known one. */
const scans = [
  { name: 'short', base: 2 ** 30, count: 2 ** 30 },
  { name: 'long', base: 0, count: 2 ** 32 },
];

export function prepare(variant: Variant): Prepared {
  const lowered = lowerGpu(headerScan({ topWordZero: true }), {
    target: 'cuda',
    pipes: variant.pipes,
    ...(variant.workgroup ? { workgroup: variant.workgroup } : {}),
  });
  checkBindings(lowered);
  const words = header.match(/.{8}/g)!.map((word) => Number.parseInt(word, 16));
  const parameters = new JobParameters(lowered.program, { header: words, target });
  return {
    variant,
    text: variant.edit ? variant.edit(lowered.text) : lowered.text,
    workgroup: lowered.shape.workgroup,
    scans: scans.map(({ name, base, count }) => ({
      name,
      count,
      words: launchBlock(
        lowered.shape,
        { count, epoch: 1, bytes: [4 * (4 + 2 * RING_RECORDS)] },
        parameters.words(BigInt(base), RING_RECORDS),
      ),
    })),
  };
}

/** `run.c` passes these to a kernel, in this order. */
function checkBindings({ shape }: LoweredGpuKernel): void {
  const found = shape.bindings.map(({ name }) => name).join(' ');
  if (found !== 'launch counted cancel status ring') throw new Error(`run.c does not know these bindings: ${found}`);
}
