import { read, rw } from '../../../kernel/language/buffers.js';
import { cell, loop, when } from '../../../kernel/language/control.js';
import { type Expr, lit } from '../../../kernel/language/expr.js';
import { items } from '../../../kernel/language/items.js';
import { bitSelect, select } from '../../../kernel/language/operations.js';
import { u32 } from '../../../kernel/language/types.js';
import { divide } from './divisor.js';

/**
 * Makes the words of any mask in units of 16 bytes of the output (quads), regardless of where words begin and end, so that
 * adjacent items store adjacent bytes. There is no work per character: each output quad combines three quads.
 *
 *   near     the characters of the fastest positions and the separator, for one period of them. A block is the period
 *            repeated until it ends on a quad; the output repeats the block. There is one block for each offset in a quad
 *            that a launch's first word can have
 *   middle   the characters of the next positions, indexed by the number of periods passed
 *   far      all other characters, indexed by the number of cycles of the middle ones; written by the host for each
 *            launch, so a space may have any size
 *
 * The offset in a word at which a quad begins depends only on the quad's number; there are `phases` cases, and middle and
 * far have a quad for each. plan.ts makes the tables. All sizes are job values: one program for all masks of a device.
 *
 * `quads` is the number of adjacent quads per item. A GPU makes one, so that a warp stores 512 contiguous bytes. With more, only
 * the first needs divisions, and the others are found by incrementing. CPUs make quads in runs (runs.ts).
 */
export const wordPieces = (quads: number) =>
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
        step: u32, // phases from one quad to the next
      },
      // The launch's first quad in its block, and its offset in bytes; the block for that offset, in
      // `near`; the block's first row of the middle.
      chunk: { quad: u32, shift: u32, block: u32, row: u32 },
      buffers: { near: read(u32), middle: read(u32), far: read(u32), out: rw(u32) },
      lanes: 1,
    },
    ({ job, chunk, item, buffers }) => {
      const [phases] = job.phases;
      const first = item.mul(quads);
      const [block, firstQuad] = divide(first.add(chunk.quad), job.block);
      const byte = firstQuad.shl(4).add(chunk.shift);
      const [period] = divide(byte, job.period);
      const [, firstPhase] = divide(firstQuad.mul(job.step), job.phases);
      const [turn, row] = divide(block.mul(job.periods).add(period).add(chunk.row), job.rows);
      const quad = cell('u32', firstQuad);
      const phase = cell('u32', firstPhase);
      const middle = cell('u32', row.mul(phases));
      const far = cell('u32', turn.mul(phases));
      // Bytes until the period ends.
      const left = cell('u32', period.add(1).mul(job.period[0]).sub(byte));

      const around = (): Expr<'u32'>[] => {
        const words = buffers.far.at4(far.add(phase));
        return buffers.middle.at4(middle.add(phase)).map((word, k) => word.or(words[k] as Expr<'u32'>));
      };
      const nextPeriod = (): void => {
        const after = middle.add(phases);
        const isLast = after.eq(job.rows[0].mul(phases));
        far.set(select(isLast, far.add(phases), far));
        middle.set(select(isLast, 0, after));
      };
      const piece = (at: Expr<'u32'>): void => {
        const near = buffers.near.at4(quad.add(chunk.block));
        const others = around();
        const words = others.map((word) => cell('u32', word));
        // A period may end inside the quad, or with it: the bytes after it belong to the next period.
        when(left.le(16), () => {
          nextPeriod();
          const next = around();
          for (const [k, word] of words.entries()) {
            word.set(bitSelect(firstBytes(left, k), others[k] as Expr<'u32'>, next[k] as Expr<'u32'>));
          }
          left.set(left.add(job.period[0]));
        });
        buffers.out.set4(
          at,
          near.map((word, k) => word.or(words[k] as Expr<'u32'>)),
        );
      };
      if (quads === 1) {
        piece(item);
        return;
      }
      loop(quads, (k) => {
        piece(first.add(k));
        left.set(left.sub(16));
        const nextQuad = quad.add(1);
        const nextPhase = phase.add(job.step);
        quad.set(select(nextQuad.eq(job.block[0]), 0, nextQuad));
        phase.set(select(nextPhase.ge(phases), nextPhase.sub(phases), nextPhase));
      });
    },
  );

/** Mask of the bytes of a quad's word k that are among the quad's first `count`. */
export function firstBytes(count: Expr<'u32'>, k: number): Expr<'u32'> {
  const part = lit('u32', 1).shl(count.and(3).shl(3)).sub(1);
  return select(count.ge(4 * k + 4), lit('u32', 0xffff_ffff), select(count.gt(4 * k), part, 0));
}
