import { describe, expect, it } from 'vitest';
import type { Block, Statement } from '../../ir/program.js';
import { atomic, rw } from '../../language/buffers.js';
import { breakWhen, loop, when, whileTrue } from '../../language/control.js';
import { type TileContext, tiles } from '../../language/tiles.js';
import { u32 } from '../../language/types.js';
import { floatingProgram } from '../floating.js';
import { type Fence, findBarriers } from './barriers.js';
import { placeNodes } from './place-nodes.js';

const buffers = { out: rw(u32), hits: atomic() };
type Context = TileContext<Record<never, never>, Record<never, never>, typeof buffers, { at: 'u32' }>;

/** The statements of a program, one word each, with `|` for a barrier (`g` for buffers, `n` for near arrays). */
function outline(body: (context: Context) => void): string {
  const program = placeNodes(floatingProgram(tiles('outlined', { buffers, hit: { at: u32 } }, body).trace()));
  const fences = findBarriers(program);
  const mark = ({ near, global }: Fence) => `|${near ? 'n' : ''}${global ? 'g' : ''} `;
  const one = (statement: Statement): string => {
    const fence = fences.get(statement);
    return (fence ? mark(fence) : '') + nameOf(statement);
  };
  const nameOf = (statement: Statement): string => {
    switch (statement.kind) {
      case 'when':
        return `when(${block(statement.body)}; ${block(statement.otherwise)})`;
      case 'loop':
        return `loop(${block(statement.body)})`;
      case 'while':
        return `while(${block(statement.test)}; ${block(statement.body)})`;
      default:
        return statement.kind;
    }
  };
  const block = (statements: Block): string =>
    statements
      .filter(({ kind }) => !['let', 'cell', 'get', 'set'].includes(kind))
      .map(one)
      .join(' ');
  return block(program.body);
}

describe('barriers are placed', () => {
  it('where a region reads what an earlier one wrote, and before the next tile overwrites it', () => {
    expect(
      outline(({ near, each, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, i));
        each(8, (i) => buffers.out.set(i, a.at(i.xor(1))));
      }),
    ).toBe('|n each |n each');
  });

  it('not between regions that touch different memory', () => {
    expect(
      outline(({ near, each }) => {
        const [a, b] = [near(u32, 8), near(u32, 8)];
        each(8, (i) => a.set(i, i));
        each(8, (i) => b.set(i, i));
      }),
    ).toBe('|n each each');
  });

  it('not between reads, and not for memory that only the tile before wrote', () => {
    expect(
      outline(({ each, buffers }) => {
        each(8, (i) => buffers.out.set(i, i));
        each(8, (i) => buffers.hits.add(i, buffers.out.at(0)));
        each(8, (i) => buffers.hits.add(i, buffers.out.at(1)));
      }),
    ).toBe('each |g each each');
  });

  it('between work of one thread and of all threads, not between two steps of one thread', () => {
    expect(
      outline(({ near, each, once, buffers }) => {
        const a = near(u32, 8);
        once(() => a.set(0, 1));
        once(() => a.set(1, a.at(0)));
        each(8, (i) => buffers.out.set(i, a.at(1)));
      }),
    ).toBe('|n once once |n each');
  });

  it('before a read between regions, and before a region overwrites what was read', () => {
    expect(
      outline(({ near, each, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, i));
        const first = a.at(0);
        each(8, (i) => a.set(i, first));
        each(first, (i) => buffers.out.set(i, 1));
      }),
    ).toBe('|n each |n load |n each each');
  });

  it('not between equal updates whose results are unused', () => {
    expect(
      outline(({ near, each, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, 0));
        each(8, (i) => a.or(0, i));
        each(8, (i) => a.or(1, i));
        each(8, (i) => void a.add(1, i));
        each(8, (i) => buffers.out.set(i, a.at(i)));
      }),
    ).toBe('|n each |n each each |n each |n each');
  });

  it('between exchanges, whose order matters', () => {
    expect(
      outline(({ each, buffers }) => {
        each(8, (i) => void buffers.hits.xor(0, i));
        each(8, (i) => void buffers.hits.xor(0, i));
        each(8, (i) => void buffers.hits.exchange(0, i));
        each(8, (i) => void buffers.hits.exchange(0, i));
        each(8, (i) => void buffers.hits.compareExchange(0, i, 1));
        each(8, (i) => void buffers.hits.compareExchange(0, i, 2));
      }),
    ).toBe('each each |g each |g each |g each |g each');
  });

  it('never for the ring', () => {
    expect(
      outline(({ each, emit }) => {
        each(8, (i) => emit({ at: i }));
        each(8, (i) => emit({ at: i }));
      }),
    ).toBe('each each');
  });

  it('between iterations of a loop', () => {
    expect(
      outline(({ near, each, tile, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, i));
        loop(tile, () => {
          each(8, (i) => buffers.out.set(i, a.at(i)));
          each(8, (i) => a.set(i, 1));
        });
      }),
    ).toBe('|n each loop(|ng each |n each)');
  });

  it('in conditions, and after a loop that ends early', () => {
    expect(
      outline(({ near, each, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, i));
        whileTrue(
          () => a.at(0).lt(9),
          () => {
            each(8, (i) => a.set(i, i.add(1)));
            breakWhen(buffers.hits.load(0).ne(0));
            each(8, () => buffers.hits.add(0, 1));
          },
        );
        each(8, (i) => buffers.out.set(i, a.at(i)));
      }),
    ).toBe('|n each while(|n load; |n each |g atomic break |g each) |n each');
  });

  it('after branches, whichever was taken', () => {
    expect(
      outline(({ near, each, tile, buffers }) => {
        const a = near(u32, 8);
        when(tile.eq(1), () => each(8, (i) => a.set(i, i))).otherwise(() => each(8, (i) => buffers.out.set(i, i)));
        each(8, (i) => buffers.out.set(i, a.at(i)));
      }),
    ).toBe('when(|n each; each) |ng each');
  });

  it('inside sums and scans, and after them only for the memory they wrote', () => {
    expect(
      outline(({ near, each, sum, scan, once, buffers }) => {
        const a = near(u32, 8);
        each(8, (i) => a.set(i, i));
        const total = sum(u32, 8, (i) => a.at(i));
        const all = scan(8, a);
        once(() => buffers.out.set(0, total.add(all)));
        each(8, (i) => buffers.out.set(i.add(1), a.at(i)));
      }),
    ).toBe('|n each |n sum scan once |ng each');
  });
});
