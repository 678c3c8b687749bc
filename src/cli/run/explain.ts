import { launchBase, type Range } from '../../engine/work/space.js';
import { ringLayout } from '../../kernel/abi/harness.js';
import { type InterpretObserver, interpret } from '../../kernel/ir/interpret.js';
import { PRINT_BUFFER, PRINT_BYTES } from '../../kernel/ir/prints.js';
import { type Statement, ValueStage } from '../../kernel/ir/program.js';
import { statementValue, valueText } from '../../kernel/ir/value-text.js';
import { Sources } from './sources.js';
import type { Task } from './task.js';

/** A line of the user's source, and a value that was computed there. */
export interface ExplainedLine {
  /** `kernel.ts:12` */
  readonly place: string;
  readonly source: string;
  /** The last value of the line, a condition, or a hit. */
  readonly value: string;
}

export interface Explanation {
  readonly lines: readonly ExplainedLine[];
  /** Lines that were executed after the last one shown. */
  readonly omitted: number;
  readonly hits: number;
}

/** Runs one index on the interpreter. A line appears each time it is executed, with its last value. */
export function explain(task: Task, index: bigint): Explanation {
  const { program } = task;
  const sources = new Sources();
  const lines: { place: string; source: string; value: string }[] = [];
  let [omitted, hits, lastPlace] = [0, 0, ''];
  const show = (statement: Statement, value: string, isNewLine: boolean): void => {
    if (!isUsers(statement)) return;
    const { place, source } = sources.at(statement.origin.line);
    const last = lines.at(-1);
    if (!isNewLine && place === lastPlace && omitted === 0 && last) last.value = value;
    else if (lines.length < MAX_LINES) lines.push({ place, source, value });
    else if (isNewLine || place !== lastPlace) omitted++;
    lastPlace = place;
  };
  runItem(task, index, {
    before: (statement, read) => {
      if (statement.kind !== 'when') return;
      show(statement, valueText(statement.condition, read), false);
      lastPlace = ''; // what the branch does on the same line is another row
    },
    round: (statement, read) => {
      if ('index' in statement) show(statement, `round ${valueText(statement.index, read)}`, true);
    },
    after: (statement, read) => {
      if (statement.kind === 'emit') hits++;
      const value = statementValue(statement, program, read);
      if (value !== undefined) show(statement, value, false);
    },
  });
  return { lines, omitted, hits };
}

const MAX_LINES = 1000;

export interface HotLine {
  readonly place: string;
  readonly source: string;
  /** Operations of an item, on average. */
  readonly operations: number;
  /** Their share of all operations of the kernel. */
  readonly share: number;
}

export interface HotLines {
  readonly lines: readonly HotLine[];
  /** Indices that were run. */
  readonly items: number;
  /** Operations of an item, on average. */
  readonly operations: number;
}

/**
 * Counts the operations that each line executes, on the interpreter, for indices spread over the space. Values that are
 * computed once for a job or a launch do not count.
 */
export function hotLines(task: Task, { start, length }: Range): HotLines {
  const counts = new Map<string, number>();
  const wanted = length < HOT_ITEMS ? length : HOT_ITEMS;
  const end = performance.now() + HOT_MS;
  let items = 0;
  for (let i = 0n; i < wanted && (items === 0 || performance.now() < end); i++, items++) {
    runItem(task, start + (i * length) / wanted, {
      before: (statement) => {
        if (!isUsers(statement) || (statement.kind === 'let' && statement.node.stage < ValueStage.varying)) return;
        const { line } = statement.origin;
        counts.set(line, (counts.get(line) ?? 0) + 1);
      },
    });
  }
  return { items, ...inSourceOrder(counts, items) };
}

const HOT_ITEMS = 1000n;
const HOT_MS = 2000;

function inSourceOrder(counts: ReadonlyMap<string, number>, items: number): Omit<HotLines, 'items'> {
  const sources = new Sources();
  const lines = new Map<string, { file: string; row: number; place: string; source: string; count: number }>();
  let total = 0;
  for (const [position, count] of counts) {
    const { file, row, place, source } = sources.at(position);
    const key = `${file}:${row}`;
    const known = lines.get(key) ?? { file, row, place, source, count: 0 };
    known.count += count;
    lines.set(key, known);
    total += count;
  }
  const sorted = [...lines.values()].sort((a, b) => a.file.localeCompare(b.file) || a.row - b.row);
  return {
    lines: sorted.map(({ place, source, count }) => ({
      place,
      source,
      operations: count / items,
      share: count / total,
    })),
    operations: total / items,
  };
}

/** Runs an item on copies of the task's buffers. */
function runItem({ program, job, rest }: Task, index: bigint, observer: InterpretObserver): void {
  const piece = { start: index, count: 1 };
  const { headerWords, recordWords } = ringLayout(program);
  const buffers = Object.fromEntries(
    Object.entries(rest.buffers ?? {}).map(([name, { buffer, byteOffset, byteLength }]) => [
      name,
      new Uint8Array(buffer, byteOffset, byteLength).slice(),
    ]),
  );
  interpret(program, {
    job,
    chunk: rest.chunk?.(piece) ?? {},
    base: launchBase(piece).base,
    count: 1,
    buffers: { ...buffers, [PRINT_BUFFER]: new Uint8Array(PRINT_BYTES) },
    ring: new Uint8Array(4 * (headerWords + RING_RECORDS * recordWords)),
    observer,
  });
}

const RING_RECORDS = 64;

/** False for what every kernel has, such as the computation of its index. */
const isUsers = ({ origin }: Statement): boolean => origin.frames.some(({ owner }) => owner === 'user');
