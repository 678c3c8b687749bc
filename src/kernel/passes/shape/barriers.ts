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
export function findBarriers({ body, kind }: Program): ReadonlyMap<Statement, Fence> {
  const fences = new Map<Statement, Fence>();
  if (kind !== 'tiles') return fences;
  const walker = new BarrierFinder(fences);
  repeatUntilStable(fences, () => {
    const end = walker.block(body, walker.carried, []);
    walker.carried = end.only('near'); // another tile's stores to buffers are no more visible than another workgroup's
  });
  return fences;
}

/** The threads that accessed a memory: 0 is none, 1 the single thread of `once`, 2 all. */
type ThreadSet = 0 | 1 | 2;
const widerThreadSet = (a: ThreadSet, b: ThreadSet): ThreadSet => (a > b ? a : b);

interface Access {
  readonly memory: MemoryArea;
  readonly mode: 'read' | 'write';
  readonly threads: ThreadSet;
  /** Set for an atomic update whose result is not used: equal updates give the same result in any order. */
  readonly update?: AtomicOp | undefined;
}

/** A buffer, or the scratch memory that a target needs for `sum` and `scan`. */
type MemoryArea = BufferDecl | 'partials' | 'totals';
const spaceOf = (memory: MemoryArea): 'near' | 'global' =>
  typeof memory === 'string' || memory.kind === 'near' ? 'near' : 'global';

interface MemoryUse {
  readonly read: ThreadSet;
  readonly written: ThreadSet;
  /** The update that all writes have in common. */
  readonly update: AtomicOp | undefined;
}

/** The memory accessed since the last barrier. */
class PendingAccesses {
  readonly #uses: Map<MemoryArea, MemoryUse>;

  constructor(touched: Iterable<readonly [MemoryArea, MemoryUse]> = []) {
    this.#uses = new Map(touched);
  }

  copy(): PendingAccesses {
    return new PendingAccesses(this.#uses);
  }
  only(space: 'near' | 'global'): PendingAccesses {
    return new PendingAccesses([...this.#uses].filter(([memory]) => spaceOf(memory) === space));
  }

  conflicts({ memory, mode, threads, update }: Access): boolean {
    const touched = this.#uses.get(memory);
    if (!touched) return false;
    const meets = (other: ThreadSet) => other !== 0 && widerThreadSet(other, threads) === 2;
    if (mode === 'read') return meets(touched.written);
    const commutes = update !== undefined && touched.update === update;
    return meets(touched.read) || (meets(touched.written) && !commutes);
  }

  add({ memory, mode, threads, update }: Access): void {
    const { read, written, update: before } = this.#uses.get(memory) ?? { read: 0, written: 0, update };
    this.#uses.set(memory, {
      read: mode === 'read' ? widerThreadSet(read, threads) : read,
      written: mode === 'write' ? widerThreadSet(written, threads) : written,
      update: mode === 'read' || written === 0 || before === update ? (mode === 'read' ? before : update) : undefined,
    });
  }

  clear({ near, global }: Fence): void {
    for (const memory of [...this.#uses.keys()])
      if (spaceOf(memory) === 'near' ? near : global) this.#uses.delete(memory);
  }

  join(other: PendingAccesses): void {
    for (const [memory, { read, written, update }] of other.#uses) {
      if (read) this.add({ memory, mode: 'read', threads: read });
      if (written) this.add({ memory, mode: 'write', threads: written, update });
    }
  }
}

class BarrierFinder {
  readonly #fences: Map<Statement, Fence>;
  /** Accesses that the previous tile may have left pending. */
  carried = new PendingAccesses();

  constructor(found: Map<Statement, Fence>) {
    this.#fences = found;
  }

  /**
   * Walks a block between regions. Returns the accesses pending at its end; `leaving` collects those at each exit of a loop.
   */
  block(block: Block, before: PendingAccesses, leaving: PendingAccesses[]): PendingAccesses {
    let pending = before.copy();
    for (const statement of block) pending = this.#statement(statement, pending, leaving);
    return pending;
  }

  #statement(statement: Statement, pending: PendingAccesses, leaving: PendingAccesses[]): PendingAccesses {
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
        this.#addAccesses(statement, pending, [...accesses(statement.body, 2), writeByAll('partials')]);
        pending.clear({ near: true, global: false }); // a sum waits for its own partials
        pending.add({ memory: 'partials', mode: 'read', threads: 2 });
        return pending;
      case 'scan': {
        const counts = { memory: statement.near, threads: 2 } as const;
        this.#addAccesses(statement, pending, [{ ...counts, mode: 'read' }, writeByAll('totals')]);
        pending.clear({ near: true, global: false });
        pending.add({ ...counts, mode: 'write' });
        pending.add({ memory: 'totals', mode: 'read', threads: 2 });
        return pending;
      }
      case 'each':
        this.#addAccesses(statement, pending, accesses(statement.body, 2));
        return pending;
      case 'once':
        this.#addAccesses(statement, pending, accesses(statement.body, 1));
        return pending;
      default:
        // Atomics can change while threads read them: one thread loads for all.
        this.#addAccesses(statement, pending, accesses([statement], statement.kind === 'atomic' ? 1 : 2));
        return pending;
    }
  }

  /** Repeats the loop, since one round may leave accesses that the next round conflicts with. */
  #loop(statement: Extract<Statement, { kind: 'loop' | 'while' }>, pending: PendingAccesses): PendingAccesses {
    const entry = pending.copy();
    let exit = pending;
    repeatUntilStable(this.#fences, () => {
      const leaving: PendingAccesses[] = [];
      const tested = statement.kind === 'while' ? this.block(statement.test, entry, leaving) : entry.copy();
      exit = tested.copy();
      entry.join(this.block(statement.body, tested, leaving));
      for (const left of leaving) exit.join(left);
      if (statement.kind === 'loop') exit.join(entry);
    });
    return exit;
  }

  #addAccesses(statement: Statement, pending: PendingAccesses, list: readonly Access[]): void {
    const known = this.#fences.get(statement);
    const clash = (space: 'near' | 'global') =>
      list.some((access) => spaceOf(access.memory) === space && pending.conflicts(access));
    const fence = { near: clash('near') || known?.near === true, global: clash('global') || known?.global === true };
    if (fence.near || fence.global) {
      this.#fences.set(statement, fence);
      pending.clear(fence);
    }
    for (const access of list) pending.add(access);
  }
}

/** Atomic accesses whose order matters, even if all of them are alike. */
const inOrder: ReadonlySet<AtomicOp> = new Set(['store', 'exchange', 'compareExchange'] as const);

const writeByAll = (memory: MemoryArea): Access => ({ memory, mode: 'write', threads: 2 });

/**
 * Returns the accesses of a block and the blocks inside it. The ring is never read, `read` buffers never change and an array
 * belongs to one thread: they are left out.
 */
function accesses(block: Block, threads: ThreadSet): Access[] {
  return block.flatMap((statement): Access[] => {
    if (statement.kind !== 'load' && statement.kind !== 'store' && statement.kind !== 'atomic')
      return innerBlocks(statement).flatMap((inner) => accesses(inner, threads));
    const memory = statement.place.buffer;
    if (memory.kind === 'read' || memory.kind === 'array' || memory.name === 'ring') return [];
    if (statement.kind === 'load') return [{ memory, mode: 'read', threads }];
    if (statement.kind === 'store') return [{ memory, mode: 'write', threads }];
    if (statement.op === 'load') return [{ memory, mode: 'read', threads }];
    const update = statement.result || inOrder.has(statement.op) ? undefined : statement.op;
    return [{ memory, mode: 'write', threads, update }];
  });
}

/**
 * Repeats `round` until it adds no fence. A second round sees the accesses that the first one left. Each round adds fences
 * or none, so this ends.
 */
function repeatUntilStable(found: ReadonlyMap<Statement, Fence>, round: () => void): void {
  const fences = () =>
    [...found.values()].reduce((sum, { near, global }) => sum + (near ? 1 : 0) + (global ? 1 : 0), 0);
  round();
  for (let before = -1; before !== fences(); ) {
    before = fences();
    round();
  }
}
