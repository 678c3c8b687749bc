import {
  type AtomicOp,
  type Block,
  type BufferDecl,
  innerBlocks,
  type Program,
  type Statement,
} from '../../ir/program.js';

/** The memory that a barrier makes visible. */
export interface Fence {
  readonly near: boolean;
  readonly global: boolean;
}

/**
 * Finds the statements of a tile before which its threads must wait for each other: where a region, or the code between
 * regions, reads what an earlier one wrote since the last barrier, or writes what it read or wrote. A region has no
 * conflicts within itself, and work of one thread (`once`) needs no barrier before that thread's next work. A workgroup
 * processes its next tile with the same near arrays, so the end of the body is followed by its beginning.
 */
export function barriers({ body, kind }: Program): ReadonlyMap<Statement, Fence> {
  const found = new Map<Statement, Fence>();
  if (kind !== 'tiles') return found;
  const walker = new Walker(found);
  untilStable(found, () => {
    const end = walker.block(body, walker.carried, []);
    walker.carried = end.only('near'); // another tile's stores to buffers are no more visible than another workgroup's
  });
  return found;
}

/** The threads that accessed a memory: 0 is none, 1 the single thread of `once`, 2 all. */
type Who = 0 | 1 | 2;
const most = (a: Who, b: Who): Who => (a > b ? a : b);

interface Access {
  readonly memory: Memory;
  readonly mode: 'read' | 'write';
  readonly who: Who;
  /** Set for an atomic update whose result is not used: equal updates give the same result in any order. */
  readonly update?: AtomicOp | undefined;
}

/** A buffer, or the scratch memory that a target needs for `sum` and `scan`. */
type Memory = BufferDecl | 'partials' | 'totals';
const spaceOf = (memory: Memory): 'near' | 'global' =>
  typeof memory === 'string' || memory.kind === 'near' ? 'near' : 'global';

interface Touched {
  readonly read: Who;
  readonly written: Who;
  /** The update that all writes have in common. */
  readonly update: AtomicOp | undefined;
}

/** The memory accessed since the last barrier. */
class Pending {
  readonly #touched: Map<Memory, Touched>;

  constructor(touched: Iterable<readonly [Memory, Touched]> = []) {
    this.#touched = new Map(touched);
  }

  copy(): Pending {
    return new Pending(this.#touched);
  }
  only(space: 'near' | 'global'): Pending {
    return new Pending([...this.#touched].filter(([memory]) => spaceOf(memory) === space));
  }

  conflicts({ memory, mode, who, update }: Access): boolean {
    const touched = this.#touched.get(memory);
    if (!touched) return false;
    const meets = (other: Who) => other !== 0 && most(other, who) === 2;
    if (mode === 'read') return meets(touched.written);
    const commutes = update !== undefined && touched.update === update;
    return meets(touched.read) || (meets(touched.written) && !commutes);
  }

  add({ memory, mode, who, update }: Access): void {
    const { read, written, update: before } = this.#touched.get(memory) ?? { read: 0, written: 0, update };
    this.#touched.set(memory, {
      read: mode === 'read' ? most(read, who) : read,
      written: mode === 'write' ? most(written, who) : written,
      update: mode === 'read' || written === 0 || before === update ? (mode === 'read' ? before : update) : undefined,
    });
  }

  clear({ near, global }: Fence): void {
    for (const memory of [...this.#touched.keys()])
      if (spaceOf(memory) === 'near' ? near : global) this.#touched.delete(memory);
  }

  join(other: Pending): void {
    for (const [memory, { read, written, update }] of other.#touched) {
      if (read) this.add({ memory, mode: 'read', who: read });
      if (written) this.add({ memory, mode: 'write', who: written, update });
    }
  }
}

class Walker {
  readonly #found: Map<Statement, Fence>;
  /** Accesses that the previous tile may have left pending. */
  carried = new Pending();

  constructor(found: Map<Statement, Fence>) {
    this.#found = found;
  }

  /**
   * Walks a block between regions. Returns the accesses pending at its end; `leaving` collects those at each exit of a loop.
   */
  block(block: Block, before: Pending, leaving: Pending[]): Pending {
    let pending = before.copy();
    for (const statement of block) pending = this.#statement(statement, pending, leaving);
    return pending;
  }

  #statement(statement: Statement, pending: Pending, leaving: Pending[]): Pending {
    switch (statement.kind) {
      case 'when': {
        const yes = this.block(statement.body, pending, leaving);
        yes.join(this.block(statement.otherwise, pending, leaving));
        return yes;
      }
      case 'loop':
      case 'while':
        return this.#loop(statement, pending);
      case 'break':
        leaving.push(pending.copy());
        return pending;
      case 'sum':
        this.#meet(statement, pending, [...accesses(statement.body, 2), write('partials')]);
        pending.clear({ near: true, global: false }); // a sum waits for its own partials
        pending.add({ memory: 'partials', mode: 'read', who: 2 });
        return pending;
      case 'scan': {
        const counts = { memory: statement.near, who: 2 } as const;
        this.#meet(statement, pending, [{ ...counts, mode: 'read' }, write('totals')]);
        pending.clear({ near: true, global: false });
        pending.add({ ...counts, mode: 'write' });
        pending.add({ memory: 'totals', mode: 'read', who: 2 });
        return pending;
      }
      case 'each':
        this.#meet(statement, pending, accesses(statement.body, 2));
        return pending;
      case 'once':
        this.#meet(statement, pending, accesses(statement.body, 1));
        return pending;
      default:
        // Atomics can change while threads read them: one thread loads for all.
        this.#meet(statement, pending, accesses([statement], statement.kind === 'atomic' ? 1 : 2));
        return pending;
    }
  }

  /** Repeats the loop, since one round may leave accesses that the next round conflicts with. */
  #loop(statement: Extract<Statement, { kind: 'loop' | 'while' }>, pending: Pending): Pending {
    const entry = pending.copy();
    let exit = pending;
    untilStable(this.#found, () => {
      const leaving: Pending[] = [];
      const tested = statement.kind === 'while' ? this.block(statement.test, entry, leaving) : entry.copy();
      exit = tested.copy();
      entry.join(this.block(statement.body, tested, leaving));
      for (const left of leaving) exit.join(left);
      if (statement.kind === 'loop') exit.join(entry);
    });
    return exit;
  }

  #meet(statement: Statement, pending: Pending, list: readonly Access[]): void {
    const known = this.#found.get(statement);
    const clash = (space: 'near' | 'global') =>
      list.some((access) => spaceOf(access.memory) === space && pending.conflicts(access));
    const fence = { near: clash('near') || known?.near === true, global: clash('global') || known?.global === true };
    if (fence.near || fence.global) {
      this.#found.set(statement, fence);
      pending.clear(fence);
    }
    for (const access of list) pending.add(access);
  }
}

const write = (memory: Memory): Access => ({ memory, mode: 'write', who: 2 });

/**
 * Returns the accesses of a block and the blocks inside it. The ring is never read and `read` buffers never change: both are
 * left out.
 */
function accesses(block: Block, who: Who): Access[] {
  return block.flatMap((statement): Access[] => {
    if (statement.kind !== 'load' && statement.kind !== 'store' && statement.kind !== 'atomic')
      return innerBlocks(statement).flatMap((inner) => accesses(inner, who));
    const memory = statement.place.buffer;
    if (memory.kind === 'read' || memory.name === 'ring') return [];
    if (statement.kind === 'load') return [{ memory, mode: 'read', who }];
    if (statement.kind === 'store') return [{ memory, mode: 'write', who }];
    if (statement.op === 'load') return [{ memory, mode: 'read', who }];
    const update = statement.result || statement.op === 'store' ? undefined : statement.op;
    return [{ memory, mode: 'write', who, update }];
  });
}

/**
 * Repeats `round` until it adds no fence. A second round sees the accesses that the first one left. Each round adds fences
 * or none, so this ends.
 */
function untilStable(found: ReadonlyMap<Statement, Fence>, round: () => void): void {
  const fences = () =>
    [...found.values()].reduce((sum, { near, global }) => sum + (near ? 1 : 0) + (global ? 1 : 0), 0);
  round();
  for (let before = -1; before !== fences(); ) {
    before = fences();
    round();
  }
}
