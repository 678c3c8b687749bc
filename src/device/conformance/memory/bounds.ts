import {
  array,
  atomic,
  type Expr,
  type ItemContext,
  items,
  loop,
  read,
  rw,
  table,
  when,
} from '../../../kernel/index.js';
import type { CompileOptions, Device, DeviceProgram } from '../../device.js';
import { type Case, check, expectError } from '../case.js';
import { expectEqual, Rig } from '../rig.js';
import { distinctOptions } from '../streams/behaviour.js';

/** Ten words each: the last quad is cut off in the middle. */
const WORDS = 10;
/** Named here, so that no formatter spreads an access over several lines. */
const ENTRIES = [1, 2, 3];
const signature = {
  job: { at: 'u32', far: 'u64', entries: ['u32', 3], reach: 'u32' },
  buffers: { from: read('u32'), to: rw('u32'), words: atomic(), out: rw('u32') },
} as const;
type None = Record<never, never>;
type Context = ItemContext<typeof signature.job, None, typeof signature.buffers, None>;
type Access = (context: Context, at: Expr<'u32'>, lines: string[]) => void;

/** Records the line of the access out of bounds, which is the line of this call, and returns `reached`. */
function recordLine<B>(lines: string[], reached: B): B {
  const frames = (new Error().stack ?? '')
    .split('\n')
    .flatMap((frame) => frame.split(/[/()\s]/))
    .flatMap((word) => /^[^:]*\.[jt]s:\d+/.exec(word) ?? []);
  lines.push(frames[1] ?? 'no line'); // the first is this function's own
  return reached;
}

const accesses: Readonly<Record<string, Access>> = {
  'a load': ({ buffers, item }, at, lines) => buffers.out.set(item, recordLine(lines, buffers.from).at(at)),
  'a store': ({ buffers, item }, at, lines) => recordLine(lines, buffers.to).set(at, item),
  'an atomic': ({ buffers }, at, lines) => void recordLine(lines, buffers.words).add(at, 1),
  'a quad, cut off': ({ buffers, item }, at, lines) =>
    buffers.out.set(item, recordLine(lines, buffers.from).at4(at.sub(8))[0]),
  'a stored quad, cut off': ({ buffers, item }, at, lines) => {
    const four = [item, item, item, item];
    recordLine(lines, buffers.to).set4(at.sub(8), four);
  },
  'a look-up': ({ buffers, item }, at, lines) => buffers.out.set(item, recordLine(lines, table('u32', ENTRIES)).at(at)),
  'a look-up in job values': ({ buffers, item, job }, at, lines) =>
    buffers.out.set(item, recordLine(lines, table('u32', job.entries)).at(at)),
  'a read of an array': ({ buffers, item }, at, lines) => {
    const own = array('u32', WORDS);
    own.set(item.rem(WORDS), item);
    buffers.out.set(item, recordLine(lines, own).at(at));
  },
  'a write of an array': ({ buffers, item }, at, lines) => {
    const own = array('u32', WORDS);
    recordLine(lines, own).set(at, item);
    buffers.out.set(item, own.at(item.rem(WORDS)));
  },
  'a slice': ({ buffers, item }, at, lines) => buffers.out.set(item, recordLine(lines, buffers.from.slice(at)).at(0)),
  'a slice so far that its address wraps': ({ buffers, item, job }, at, lines) => {
    const view = buffers.from.slice(job.far.add(at.to('u64')).sub(10));
    buffers.out.set(item, recordLine(lines, view).at(0));
  },
};

/** Varying: only item 20 goes wrong. Uniform: all do. In a loop: in the round that reaches the end. */
const reaches: Readonly<Record<string, (context: Context, access: (at: Expr<'u32'>) => void) => void>> = {
  varying: ({ item }, access) => when(item.eq(20), () => access(item.sub(10))),
  uniform: ({ item, job }, access) => when(item.ge(0), () => access(job.at)),
  'in a loop': ({ item }, access) => loop(item.and(1).add(11), (i) => when(i.eq(10), () => access(i))),
};

const options: readonly CompileOptions[] = [
  { checked: true, lanes: 1 },
  { checked: true, wide: true },
  { checked: true },
];

/** One kernel with every access, of which the job chooses one: compilers are the slow part. */
const outside: readonly Case[] = Object.entries(accesses).map(([what, access]) => ({
  name: `bounds/${what} outside is an error that names the line`,
  run: async (device: Device, only?: number) => {
    const lines: string[] = [];
    const kernel = items('outside', signature, (context) => {
      for (const [k, reach] of Object.values(reaches).entries())
        when(context.job.reach.eq(k), () => reach(context, (at) => access(context, at, lines)));
    });
    for (const one of distinctOptions(device, options, only)) {
      const program = await device.compile(kernel, one);
      for (const [k, how] of Object.keys(reaches).entries())
        await mustTrap(device, program, k, lines, `${what}, ${how}, ${JSON.stringify(one)}`);
    }
  },
}));

async function mustTrap(
  device: Device,
  program: DeviceProgram,
  reach: number,
  lines: readonly string[],
  what: string,
): Promise<void> {
  await Rig.with(device, async (rig) => {
    const buffers = {
      from: await rig.alloc(WORDS * 4),
      to: await rig.alloc(WORDS * 4),
      words: await rig.alloc(WORDS * 4),
      out: await rig.alloc(64 * 4),
    };
    const job = program.bind({ at: 10, far: 1n << 62n, entries: [1, 2, 3], reach });
    rig.stream.launch({ job, count: 37, buffers: buffers });
    const failed = rig.stream.mark();
    const next = rig.stream.mark();
    const error = await expectError('kernel-bounds', what, () => failed.done);
    check(error.message.includes('kernel outside'), `${what}: the kernel is not named in ${error.message}`);
    const line = lines[0] ?? 'no line';
    check(error.message.includes(line), `${what}: ${line} is not named in ${error.message}`);
    check((await next.done).complete, `${what}: the error reached the next mark`);
    const to = await rig.readBack(buffers.to, new Uint32Array(WORDS));
    check(what.startsWith('a stored quad') || to.every((word) => word === 0), `${what}: something was written`);
  });
}

const inside: Case = {
  name: 'bounds/a guarded or unreached access is not an error',
  run: async (device, only) => {
    const kernel = items('inside', signature, ({ item, job, buffers }) => {
      when(item.lt(WORDS), () => buffers.out.set(item, buffers.from.at(item)));
      when(item.lt(2), () => buffers.out.set(item, buffers.from.at4(item)[3]));
      when(item.lt(3), () =>
        buffers.out.set(item.add(20), table('u32', [5, 6, 7]).at(item).add(table('u32', job.entries).at(item))),
      );
      when(job.at.lt(WORDS), () => buffers.out.set(item, buffers.from.at(job.at)));
      when(item.ge(64), () => buffers.to.set(item, 1));
      buffers.from.prefetch4(item.mul(1_000_000)); // a hint may name anything
      loop(WORDS, (i) => buffers.words.add(i, 1));
    });
    const from = Uint32Array.from({ length: WORDS }, (_, i) => 100 + i);
    for (const one of distinctOptions(device, options, only)) {
      await Rig.with(device, async (rig) => {
        const initial = { from, to: new Uint32Array(WORDS), words: new Uint32Array(WORDS), out: new Uint32Array(64) };
        const { buffers } = await rig.run(await device.compile(kernel, one), {
          job: { at: 10, far: 0n, entries: [1, 2, 3], reach: 0 },
          count: 37,
          buffers: initial,
        });
        const expected = Array.from({ length: 64 }, (_, i) =>
          i < 2 ? 100 + 4 * i + 3 : i < WORDS ? 100 + i : i >= 20 && i < 23 ? i - 20 + 5 + i - 20 + 1 : 0,
        );
        expectEqual('results', buffers.out, expected);
        expectEqual('untouched', buffers.to, new Uint32Array(WORDS));
        expectEqual('atomics', buffers.words, new Uint32Array(WORDS).fill(37));
      });
    }
  },
};

export const bounds: readonly Case[] = [...outside, inside];
