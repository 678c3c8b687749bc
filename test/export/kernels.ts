import { f32, items, lit, read, rw, table, u32, u64, u64Of, when } from '../../src/kernel/index.js';

/** A search with all kinds of inputs: job values, a buffer, a table of constants, several hits for one index. */
export const probe = items(
  'probe',
  {
    job: { salt: u32, limit: u32 },
    buffers: { words: read(u32) },
    hit: { value: u32, wide: u64, half: [f32, 2] },
  },
  ({ job, index, buffers, emit }) => {
    const { lo } = index;
    const factors = table(u32, [0x2c1b3c6d, 0x2c1b3c6d, 0x2c1b3c6d, 0x2c1b3c6d]);
    const first = lo.mul(job.salt).xor(buffers.words.at(lo.and(255)));
    const second = first.xor(first.shr(15)).mul(factors.at(lo.and(3)));
    const mixed = second.xor(second.shr(12));
    when(mixed.lt(job.limit), () => {
      const wide = index.mul(u64Of(lit('u32', 1), lit('u32', 1)));
      const half = [lo.to('f32'), lit('f32', -0.5)];
      emit({ value: 0, wide, half });
      when(lo.and(1).eq(1), () => emit({ value: 1, wide, half }));
    });
  },
);

/** Rows of two floats to rows of one: y = (x0 + x1) · by, where `by` is a launch value of the host part. */
export const scale = items(
  'scale',
  { job: { by: f32, class: u32 }, buffers: { x: read(f32), y: rw(f32) } },
  ({ job, item, index, buffers }) => {
    const by = job.by.mul(2).add(job.class.to('f32'));
    const sum = buffers.x.at(item.mul(2)).add(buffers.x.at(item.mul(2).add(1)));
    buffers.y.set(item, sum.mul(by).add(index.lo.to('f32')));
  },
);
