import { read, rw } from '../../../kernel/language/buffers.js';
import { cell, loop, when } from '../../../kernel/language/control.js';
import type { Expr } from '../../../kernel/language/expr.js';
import { items } from '../../../kernel/language/items.js';
import { bitSelect, select } from '../../../kernel/language/operations.js';
import { u32 } from '../../../kernel/language/types.js';
import { divide } from './divisor.js';
import { firstBytes } from './kernel.js';

/** Quads of a run: a cache line of the output. */
export const RUN = 4;

/**
 * The words kernel (kernel.ts) for CPUs. It makes quads in runs of four. Rows and blocks are in the order of the output's quads
 * (`Plan.withRun`), so a run in which no period ends is three loads, two operations and a store of adjacent bytes, without
 * a test for each quad. One Neoverse-N1 core: 6.6 GB/s quad by quad, 11.7 in runs. `quads` is a multiple of `RUN`.
 */
export const wordRuns = (quads: number) =>
  items(
    'words',
    {
      job: {
        // Divisors (divisor.ts): quads of a block, bytes of a period, phases, rows of the middle.
        block: [u32, 3],
        period: [u32, 3],
        phases: [u32, 3],
        rows: [u32, 3],
        periods: u32, // of a block
        rowQuads: u32, // quads from one row to the next
        // Steps from one run to the next, less than a block and less than all phases.
        nextQuad: u32,
        nextPhase: u32,
      },
      chunk: { quad: u32, shift: u32, block: u32, row: u32 }, // as in kernel.ts
      buffers: { near: read(u32), middle: read(u32), far: read(u32), out: rw(u32) },
      lanes: 1,
    },
    ({ job, chunk, item, buffers }) => {
      const first = item.mul(quads);
      const [block, firstQuad] = divide(first.add(chunk.quad), job.block);
      const byte = firstQuad.shl(4).add(chunk.shift);
      const [period] = divide(byte, job.period);
      const [, firstPhase] = divide(firstQuad, job.phases);
      const [turn, row] = divide(block.mul(job.periods).add(period).add(chunk.row), job.rows);
      const quad = cell('u32', firstQuad);
      const phase = cell('u32', firstPhase);
      const middle = cell('u32', row.mul(job.rowQuads));
      const far = cell('u32', turn.mul(job.rowQuads));
      // Bytes until the period ends.
      const left = cell('u32', period.add(1).mul(job.period[0]).sub(byte));
      const near = (k: Expr<'u32'> | number) => buffers.near.at4(quad.add(chunk.block).add(k));
      const around = (k: Expr<'u32'> | number): Expr<'u32'>[] =>
        join(buffers.middle.at4(middle.add(phase).add(k)), buffers.far.at4(far.add(phase).add(k)));

      loop(quads / RUN, (run) => {
        const at = first.add(run.mul(RUN));
        when(left.gt(16 * RUN), () => {
          const words = Array.from({ length: RUN }, (_, k) => join(near(k), around(k)));
          for (const [k, quadWords] of words.entries()) buffers.out.set4(at.add(k), quadWords);
          left.set(left.sub(16 * RUN));
        }).otherwise(() => {
          loop(RUN, (k) => {
            const others = around(k);
            const words = others.map((word) => cell('u32', word));
            // A period may end inside the quad, or with it: the bytes after it belong to the next period.
            when(left.le(16), () => {
              const after = middle.add(job.rowQuads);
              const isLast = after.eq(job.rows[0].mul(job.rowQuads));
              far.set(select(isLast, far.add(job.rowQuads), far));
              middle.set(select(isLast, 0, after));
              const next = around(k);
              for (const [j, word] of words.entries()) {
                word.set(bitSelect(firstBytes(left, j), others[j] as Expr<'u32'>, next[j] as Expr<'u32'>));
              }
              left.set(left.add(job.period[0]));
            });
            buffers.out.set4(at.add(k), join(near(k), words));
            left.set(left.sub(16));
          });
        });
        const nextQuad = quad.add(job.nextQuad);
        const nextPhase = phase.add(job.nextPhase);
        quad.set(select(nextQuad.ge(job.block[0]), nextQuad.sub(job.block[0]), nextQuad));
        phase.set(select(nextPhase.ge(job.phases[0]), nextPhase.sub(job.phases[0]), nextPhase));
      });
    },
  );

/** Joins bytes of two quads; each byte is zero in one of them. */
const join = (some: readonly Expr<'u32'>[], others: readonly Expr<'u32'>[]): Expr<'u32'>[] =>
  some.map((word, k) => word.or(others[k] as Expr<'u32'>));
