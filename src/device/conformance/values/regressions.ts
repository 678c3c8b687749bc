import {
  cell,
  type Expr,
  fma,
  items,
  type Kernel,
  lit,
  loop,
  max,
  read,
  rw,
  subChain,
  table,
  tiles,
  when,
} from '../../../kernel/index.js';
import type { CompileOptions, Device } from '../../device.js';
import type { Ability, Case } from '../case.js';
import { type Inputs, interpretInputs } from '../fuzz/trial.js';
import { expectEqual, runKernel } from '../rig.js';
import { runsGangs, variantsOf } from '../streams/behaviour.js';

export interface RegressionKernel {
  readonly kernel: Kernel;
  readonly inputs: Inputs;
  readonly needs?: readonly Ability[];
}

const COUNT = 37;
const inputsWith = (inputs: Partial<Inputs>): Inputs => ({
  job: {},
  chunk: {},
  base: 0n,
  count: COUNT,
  capacity: 1,
  types: [],
  buffers: {},
  ...inputs,
});

/** Minimized kernels that once failed. Seeds are not kept, since a changed generator makes other kernels from them. */
export const regressionKernels: Readonly<Record<string, RegressionKernel>> = {
  'a look-up that another operation folds to, inside a loop': {
    kernel: items('lookup-again', { buffers: { own: rw('i32') } }, ({ item, buffers }) => {
      const entry = table('i32', [3, 1, 5, 7]).at(item.rem(4));
      loop(1, () => void max(entry, entry));
      buffers.own.set(item, entry);
    }),
    inputs: inputsWith({ buffers: { own: new Int32Array(COUNT) } }),
  },
  'three-input logic of one input': {
    kernel: items('one-input', { buffers: { own: rw('u64') } }, ({ item, buffers }) => {
      const x = buffers.own.at(item);
      buffers.own.set(item, x.not().or(x).sub(item.to('u64')));
    }),
    inputs: inputsWith({ buffers: { own: new BigUint64Array(COUNT).fill(5n) } }),
  },
  'a table of 64-bit job values in words': {
    kernel: items(
      'wide-table',
      { job: { a: ['u64', 2] }, buffers: { at: read('u32'), own: rw('u64') } },
      ({ job, item, buffers }) => {
        const entries = table('u64', [lit('u64', 9n), ...job.a]);
        buffers.own.set(item, entries.at(buffers.at.at(item)).add(1n));
      },
    ),
    inputs: inputsWith({
      job: { a: [2n ** 64n - 1n, 2n ** 40n + 3n] },
      buffers: { at: Uint32Array.from({ length: COUNT }, (_, i) => i % 3), own: new BigUint64Array(COUNT) },
    }),
  },
  'a borrow, subtracted in a gang (GCC 12 makes -1 of 1)': {
    kernel: items('borrow', { job: { a: 'u32' }, buffers: { own: rw('u32') } }, ({ job, item, buffers }) => {
      const chain = subChain([item, lit('u32', 1)], [job.a, lit('u32', 1)]);
      buffers.own.set4(item, [1, 1, chain.limbs[1] as Expr<'u32'>, 1]);
    }),
    inputs: inputsWith({ job: { a: 20 }, buffers: { own: new Uint32Array(4 * COUNT) } }),
  },
  'an offset into near arrays that the linker refused (GCC, two lanes)': {
    kernel: tiles('near-offset', { buffers: { x: read('u32'), own: rw('u32') } }, ({ tile, near, each, buffers }) => {
      const [first, second] = [near('u32', 37), near('u32', 32)];
      for (const [k, array] of [first, second].entries())
        each(array.length, (i) => array.set(i, buffers.x.at(i.add(tile.add(9 * k)).rem(64))));
      first.at(1);
      each(32, (i) => {
        second.at(1);
        buffers.own.set(tile.mul(301).add(i).mul(4).add(2), 1);
      });
    }),
    inputs: inputsWith({ buffers: { x: new Uint32Array(64), own: new Uint32Array(COUNT * 301 * 4) } }),
  },
  'the negative of a fused sum that is 0, f64 (GCC gives +0)': {
    kernel: items('negative-zero', { job: { a: 'f64' }, buffers: { own: rw('f64') } }, ({ job, item, buffers }) => {
      const x = buffers.own.at(item);
      const sum = fma(x, job.a, x);
      when(item.and(1).eq(0), () => buffers.own.set(item, sum.neg())).otherwise(() =>
        buffers.own.set(item, sum.mul(-1)),
      );
    }),
    inputs: inputsWith({ job: { a: -1 }, buffers: { own: new Float64Array(COUNT).fill(3) } }),
    needs: ['f64', 'exact-floats'],
  },
  'the negative of a fused sum that is 0, f32': {
    kernel: items('negative-zeros', { job: { a: 'f32' }, buffers: { own: rw('f32') } }, ({ job, item, buffers }) => {
      const x = buffers.own.at(item);
      const sum = fma(x, job.a, x);
      when(item.and(1).eq(0), () => buffers.own.set(item, sum.neg())).otherwise(() =>
        buffers.own.set(item, sum.div(-1)),
      );
    }),
    inputs: inputsWith({ job: { a: -1 }, buffers: { own: new Float32Array(COUNT).fill(0.1) } }),
    needs: ['exact-floats'],
  },
  'the complement of a number that a branch knows (NVIDIA takes the number itself)': {
    kernel: items(
      'known-complement',
      { job: { a: 'u64' }, buffers: { x: read('f32'), own: rw('u64'), one: rw('f32') } },
      ({ index, job, buffers }) => {
        const rest = index.not();
        const some = cell('f32', 1);
        when(rest.lt(64), () => some.set(buffers.x.at(rest.lo)));
        when(index.eq(5), () => {
          buffers.own.set(1, rest.and(job.a));
          buffers.own.set(2, rest.or(job.a));
          buffers.one.set(1, some);
        });
      },
    ),
    inputs: inputsWith({
      job: { a: 0x1234_5678_9abc_def0n },
      buffers: { x: new Float32Array(64), own: new BigUint64Array(4), one: new Float32Array(4) },
    }),
  },
};

/** Includes narrow gangs, since each size has its own forms. */
const optionsFor = (device: Device): readonly CompileOptions[] =>
  runsGangs(device) ? [1, 2, 4, device.info.limits.lanes].map((lanes) => ({ lanes })) : variantsOf(device);

export const regressionCases: readonly Case[] = Object.entries(regressionKernels).map(
  ([name, { kernel, inputs, needs = [] }]) => ({
    name: `found/${name}`,
    needs,
    run: async (device) => {
      const { job, chunk, base, count, buffers } = inputs;
      const expected = interpretInputs(kernel.trace(), inputs);
      for (const options of optionsFor(device)) {
        const outcome = await runKernel(device, kernel, { job, chunk, base, count, buffers }, options);
        for (const [buffer, data] of Object.entries(expected.buffers))
          expectEqual(`${buffer} with ${JSON.stringify(options)}`, outcome.buffers[buffer], data);
      }
    },
  }),
);
