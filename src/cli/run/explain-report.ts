import { Exit } from '../../console/command/exit.js';
import { count, percent, plural } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { cutToWidth, table } from '../../console/output/table.js';
import type { Range } from '../../engine/work/space.js';
import { explain, hotLines } from './explain.js';
import type { Task } from './task.js';

/** Prints what `--explain` shows: a row for each line that was executed. */
export function reportExplanation(output: Output, task: Task, index: bigint): CommandResult {
  const { lines, omitted, hits } = explain(task, index);
  const rows = lines.map(({ place, source, value }) => [place, cutToWidth(source, SOURCE_COLUMNS), value]);
  for (const row of table(rows)) output.line(row);
  if (omitted > 0) output.say(`${plural(omitted, 'more line')} not shown`);
  output.say(`index ${count(index)}: ${hits === 0 ? 'no hit' : plural(hits, 'hit')}`);
  return { exit: Exit.ok, answer: { index, hits, lines, omitted } };
}

/** Prints what `--hot` shows: a row for each line, in the order of the file. */
export function reportHotLines(output: Output, task: Task, space: Range): CommandResult {
  const { lines, items, operations } = hotLines(task, space);
  const rows = lines.map((line) => [
    count(Math.round(line.operations * 10) / 10),
    percent(line.share),
    line.place,
    cutToWidth(line.source, SOURCE_COLUMNS),
  ]);
  const heading = ['operations', 'share', 'line', ''];
  for (const row of table([heading, ...rows], { right: [0, 1] })) output.line(row);
  const each = count(Math.round(operations * 10) / 10);
  output.say(`${plural(items, 'index', 'indices')}, ${each} operations each on average`);
  return { exit: Exit.ok, answer: { indices: items, operations, lines } };
}

const SOURCE_COLUMNS = 70;
