import { between, endOf, maxBigint, minBigint, type Range } from './space.js';

/**
 * An immutable set of indices, kept as disjoint ranges. No index is in it twice, so `total` is exact. `add` and
 * `remove` return new sets that share all but O(log n) nodes, so keeping an old set is free.
 *
 * The set is a treap (a search tree by start that is also a heap by a hash of the start). Done chunks mostly merge into
 * a few ranges, but leases of a fleet or a resumed job can leave a million.
 */
export class Intervals {
  static readonly none = new Intervals(undefined);
  readonly #root: Tree;

  private constructor(root: Tree) {
    this.#root = root;
  }

  static of(ranges: Iterable<Range>): Intervals {
    let set = Intervals.none;
    for (const range of ranges) set = set.add(range);
    return set;
  }

  /** Number of indices. */
  get total(): bigint {
    return this.#root?.total ?? 0n;
  }

  /** Number of ranges, after merging those that touch. */
  get count(): number {
    return this.#root?.count ?? 0;
  }

  get isEmpty(): boolean {
    return this.#root === undefined;
  }

  get first(): Range | undefined {
    const node = firstOf(this.#root);
    return node && between(node.start, node.end);
  }

  add(range: Range): Intervals {
    if (this.has(range)) return this;
    let { start } = range;
    let end = endOf(range);
    // A range that only touches is merged too, hence the + 1.
    const [below, rest] = split(this.#root, start);
    const [inside, above] = split(rest, end + 1n);
    end = maxBigint(end, lastOf(inside)?.end ?? end);
    const before = lastOf(below);
    if (before === undefined || before.end < start) return new Intervals(join(join(below, leaf(start, end)), above));
    end = maxBigint(end, before.end);
    start = before.start;
    return new Intervals(join(join(split(below, start)[0], leaf(start, end)), above));
  }

  remove(range: Range): Intervals {
    const { start } = range;
    const end = endOf(range);
    if (range.length <= 0n || (at(this.#root, end - 1n)?.end ?? 0n) <= start) return this;
    const [below] = split(this.#root, start);
    const [upTo, above] = split(this.#root, end);
    const before = lastOf(below);
    const last = lastOf(upTo); // the only range that can extend past the end
    let left = below;
    if (before !== undefined && before.end > start) {
      left = join(split(below, before.start)[0], leaf(before.start, start));
    }
    const right = last !== undefined && last.end > end ? join(leaf(end, last.end), above) : above;
    return new Intervals(join(left, right));
  }

  /** Returns the part of the set that lies in the range. */
  within(range: Range): Intervals {
    const { start, length } = range;
    if (length <= 0n || this.#root === undefined) return Intervals.none;
    const lowest = minBigint(firstOf(this.#root)?.start ?? start, start);
    const highest = maxBigint(lastOf(this.#root)?.end ?? 0n, endOf(range));
    return this.remove(between(lowest, start)).remove(between(endOf(range), highest));
  }

  /** True if every index of the range is in the set. */
  has(range: Range): boolean {
    if (range.length <= 0n) return true;
    const node = at(this.#root, range.start);
    return node !== undefined && node.end >= endOf(range);
  }

  /** Yields the ranges in ascending order. */
  *[Symbol.iterator](): Generator<Range> {
    for (const node of nodesFrom(this.#root, undefined)) yield between(node.start, node.end);
  }

  /** Yields the parts of the range that are not in the set, in ascending order. */
  *missing(range: Range): Generator<Range> {
    const end = endOf(range);
    let { start } = range;
    for (const node of nodesFrom(this.#root, start)) {
      if (node.start >= end) break;
      if (node.start > start) yield between(start, node.start);
      start = maxBigint(start, node.end);
    }
    if (start < end) yield between(start, end);
  }

  /** Returns the smallest index from `from` on that is not in the set. */
  firstMissing(from: bigint): bigint {
    const node = at(this.#root, from);
    return node !== undefined && node.end > from ? node.end : from;
  }
}

interface Node {
  readonly start: bigint;
  readonly end: bigint;
  readonly priority: number;
  readonly left: Tree;
  readonly right: Tree;
  /** Of the whole subtree. */
  readonly total: bigint;
  readonly count: number;
}
type Tree = Node | undefined;

function node(start: bigint, end: bigint, priority: number, left: Tree, right: Tree): Node {
  const total = end - start + (left?.total ?? 0n) + (right?.total ?? 0n);
  return { start, end, priority, left, right, total, count: 1 + (left?.count ?? 0) + (right?.count ?? 0) };
}

const leaf = (start: bigint, end: bigint): Node => node(start, end, priorityOf(start), undefined, undefined);

const withChildren = (old: Node, left: Tree, right: Tree): Node => node(old.start, old.end, old.priority, left, right);

/** Splits into ranges that start below `start`, and those that start there or above. */
function split(tree: Tree, start: bigint): readonly [Tree, Tree] {
  if (tree === undefined) return [undefined, undefined];
  if (tree.start < start) {
    const [low, high] = split(tree.right, start);
    return [withChildren(tree, tree.left, low), high];
  }
  const [low, high] = split(tree.left, start);
  return [low, withChildren(tree, high, tree.right)];
}

/** Joins two trees. All of `low` must be below all of `high`. */
function join(low: Tree, high: Tree): Tree {
  if (low === undefined) return high;
  if (high === undefined) return low;
  return low.priority > high.priority
    ? withChildren(low, low.left, join(low.right, high))
    : withChildren(high, join(low, high.left), high.right);
}

function firstOf(tree: Tree): Tree {
  let found = tree;
  while (found?.left !== undefined) found = found.left;
  return found;
}

function lastOf(tree: Tree): Tree {
  let found = tree;
  while (found?.right !== undefined) found = found.right;
  return found;
}

/** Returns the last range that starts at `index` or below. */
function at(tree: Tree, index: bigint): Tree {
  let found: Tree;
  for (let here = tree; here !== undefined; ) {
    if (here.start <= index) found = here;
    here = here.start <= index ? here.right : here.left;
  }
  return found;
}

/** Yields nodes in ascending order, without those that end at `from` or below. */
function* nodesFrom(tree: Tree, from: bigint | undefined): Generator<Node> {
  const path: Node[] = [];
  for (let here = tree; here !== undefined; ) {
    const isPassed = from !== undefined && here.end <= from;
    if (!isPassed) path.push(here);
    here = isPassed ? here.right : here.left;
  }
  for (let next = path.pop(); next !== undefined; next = path.pop()) {
    yield next;
    for (let here = next.right; here !== undefined; here = here.left) path.push(here);
  }
}

/** Hashes the start, so that the tree's shape depends only on the set. Depth is about 2 log2 n. */
function priorityOf(start: bigint): number {
  let mixed = 0;
  for (let rest = start; ; rest >>= 32n) {
    mixed = Math.imul(mixed ^ Number(rest & 0xffff_ffffn), 0x9e3779b1);
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed ^= mixed >>> 13;
    if (rest < 1n << 32n) return mixed;
  }
}
