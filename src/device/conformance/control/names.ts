import {
  type AtomicBuffer,
  atomic,
  type BufferSpec,
  type Expr,
  items,
  type RwBuffer,
  rw,
  tiles,
  when,
} from '../../../kernel/index.js';
import type { CompileOptions, Device } from '../../device.js';
import type { Case } from '../case.js';
import { expectEqual, runKernel } from '../rig.js';
import { distinctOptions } from '../streams/behaviour.js';

/** Names that a kernel may use and that printers also generate, or would without care. */
const printerNames = (
  'near0 near1 near0-storage x x-length length-b-x sum0 partials-u32 totals spread-u32 table-0 b-x p-x p0 v0 v0-q c0 t0 ' +
  'q0 i l n launch params control status tables thread group epoch first last own round item tile whole active begin ' +
  'stop job-0 chunk-0 base-0 x-0 x-lo x-hi ringCapacity millrace-run LANES u32v splat-u32 checked-index hits'
).split(' ');
/** Words that mean something in C, CUDA, OpenCL C, WGSL, WAT, or to every JavaScript object. */
const words = (
  'int uint half bool void for while switch return goto static volatile restrict struct typedef inline auto kernel ' +
  'global local constant private fn let var loop override ptr array atomic bitcast vec4 asm class template operator new ' +
  'this main min max select barrier printf memcpy get-global-id threadIdx atomicAdd uint4 module func param u32 u64 ' +
  'constructor toString valueOf then length name'
).split(' ');
const allNames = [...printerNames, ...words];

/** One entry for each name, by its position in the list. */
const fieldsOf = <T>(names: readonly string[], value: (k: number) => T): Record<string, T> =>
  Object.fromEntries(names.map((name, k) => [name, value(k)]));

const COUNT = 21;

/** One lane and a gang, with checks and without. */
const variants: readonly CompileOptions[] = [{ lanes: 1, checked: true }, {}];

const values: Case = {
  name: 'names/of job and chunk values',
  run: async (device) => {
    const type = (): 'u32' => 'u32';
    const kernel = items(
      'main',
      { job: fieldsOf(allNames, type), chunk: fieldsOf(printerNames, type), buffers: { out: rw('u32') } },
      ({ item, job, chunk, buffers: { out } }) => {
        const both = [
          ...allNames.map((name) => job[name]),
          ...printerNames.map((name) => chunk[name]),
        ] as Expr<'u32'>[];
        const sum = both.reduce((before, value) => before.mul(31).add(value.xor(item)), item);
        out.set(item, sum);
      },
    );
    const job = fieldsOf(allNames, (k) => 3 * k);
    const chunk = fieldsOf(printerNames, (k) => 1_000_000 + k);
    const both = [...Object.values(job), ...Object.values(chunk)];
    const expected = Uint32Array.from({ length: COUNT }, (_, item) =>
      both.reduce((before, value) => (Math.imul(before, 31) + (value ^ item)) >>> 0, item),
    );
    for (const options of distinctOptions(device, variants)) {
      const setup = { job, chunk, count: COUNT, buffers: { out: new Uint32Array(COUNT) } };
      const { buffers } = await runKernel(device, kernel, setup, options);
      expectEqual(`values with ${JSON.stringify(options)}`, buffers.out, expected);
    }
  },
};

const hits: Case = {
  name: 'names/of hit fields',
  run: async (device) => {
    const names = [...words, ...printerNames.slice(0, 10)];
    const kernel = items('kernel', { hit: fieldsOf(names, () => 'u32' as const) }, ({ item, emit }) => {
      when(item.eq(COUNT - 1), () => emit(fieldsOf(names, (k) => item.mul(k))));
    });
    const setup = { count: COUNT, ring: new Uint32Array(4 + 2 * (1 + names.length)) };
    const { ring } = await runKernel(device, kernel, setup, { lanes: 1 });
    const expected = [COUNT - 1, ...names.map((_, k) => k * (COUNT - 1))];
    expectEqual('the hit', ring.subarray(4, 5 + names.length), expected);
  },
};

const buffers: Case = {
  name: 'names/of buffers',
  run: async (device) => {
    const names = [...printerNames.slice(0, 11), 'int', 'kernel', 'min', 'get-global-id', 'threadIdx', 'constructor'];
    const maxBuffers = Math.min(names.length, (device.info.limits.buffers ?? names.length + 1) - 1);
    // WebGPU binds few buffers, and SwiftShader takes seconds for each of these kernels: the first names matter most.
    for (let at = 0; at < Math.min(names.length, 2 * maxBuffers); at += maxBuffers)
      await checkBuffers(device, names.slice(at, at + maxBuffers));
  },
};

/** A tile has everything that printers make names for: near arrays, a sum, a scan. */
async function checkBuffers(device: Device, names: readonly string[]): Promise<void> {
  const specs: Record<string, BufferSpec> = { ...fieldsOf(names, () => rw('u32')), tally: atomic() };
  const kernel = tiles('threadIdx', { buffers: specs, job: { sum0: 'u32' } }, (context) => {
    const { tile, job, near, each, sum, scan, once } = context;
    const [a, b] = [near('u32', 40), near('u32', 40)];
    each(40, (i) => {
      a.set(i, i.add(job.sum0));
      b.set(i, i);
    });
    const total = sum('u32', 40, (i) => a.at(i).add(b.at(i)));
    const counted = scan(40, b);
    once(() => {
      const value = total.add(counted).add(b.at(2));
      for (const [k, name] of names.entries())
        (context.buffers[name] as unknown as RwBuffer<'u32'>).set(tile, value.mul(k + 1));
      (context.buffers.tally as unknown as AtomicBuffer).add(0, 1);
    });
  });
  const upTo39 = 39 * 20;
  const job = { sum0: 5 };
  const value = 40 * job.sum0 + 2 * upTo39 + upTo39 + 1;
  const setup = {
    job,
    count: 3,
    buffers: { ...fieldsOf(names, () => new Uint32Array(4)), tally: new Uint32Array(1) },
  };
  for (const options of distinctOptions(device, variants)) {
    const outcome = await runKernel(device, kernel, setup, options);
    for (const [k, name] of names.entries()) {
      const expected = [1, 1, 1, 0].map((one) => one * value * (k + 1));
      expectEqual(`${name} with ${JSON.stringify(options)}`, outcome.buffers[name], expected);
    }
    expectEqual('tally', outcome.buffers.tally, [3]);
  }
}

export const nameCases: readonly Case[] = [values, hits, buffers];
