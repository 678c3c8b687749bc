import { Exit } from '../../console/command/exit.js';
import { hitTexts } from '../../console/ledger/hit-text.js';
import { paramsText } from '../../console/ledger/params-text.js';
import { age, count, duration, percent, plural } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { table } from '../../console/output/table.js';
import { endOf, type Range, shareOf } from '../../engine/work/space.js';
import { decode, FINAL_STATES, type JobSummary } from '../../store/index.js';
import type { StoreCall, StoreOptions } from './command.js';

/** `millrace jobs list` */
export async function list({ output, options, store }: StoreCall<ListOptions>): Promise<CommandResult> {
  const all = await store.jobs();
  const shown = all.filter(({ job }) => (options.open ? !FINAL_STATES.includes(job.state) : job.state !== 'replaced'));
  for (const summary of shown) output.event('job', eventOf(summary));
  const heading = ['id', 'state', 'done', 'hits', 'worked', 'last', 'prio', 'space', 'job'].map(output.style.dim);
  const rows = shown.map((summary) => {
    const { job, done, hits } = summary;
    return [
      job.id,
      stateOf(summary),
      percent(shareOf(done, job.space.length)),
      count(hits),
      duration(job.elapsedMs / 1000),
      age(Date.now() - job.lastActiveMs),
      String(job.priority),
      spaceText(job.space),
      [job.name, job.call.kernel, output.style.dim(paramsText(job.params))].filter((text) => text).join('  '),
    ];
  });
  if (rows.length > 0) for (const line of table([heading, ...rows], { right: [2, 3, 4, 5, 6, 7] })) output.line(line);
  else output.say(`no jobs in ${store.directory}`);
  return Exit.ok;
}

interface ListOptions extends StoreOptions {
  readonly open?: boolean;
}

/** `millrace jobs show` */
export async function show({
  output,
  options,
  args: [id = ''],
  store,
}: StoreCall<ShowOptions>): Promise<CommandResult> {
  const summary = await store.find(id);
  const { job, done, hits: found, ranges } = summary;
  const progress = await store.progress(job.id);
  output.event('job', eventOf(summary));
  const line = (name: string, text: string): void => output.line(`${output.style.dim(name.padEnd(9))} ${text}`);
  output.line(`${output.style.bold(job.id)}  ${job.name}`);
  line('state', `${stateOf(summary)}${job.reason === undefined ? '' : `: ${job.reason.split('\n', 1)[0]}`}`);
  const { space } = job;
  line('space', `${count(space.start)} to ${count(endOf(space))}`);
  line('done', `${count(done)}, ${percent(shareOf(done, space.length))}, in ${plural(ranges, 'range')}`);
  line('hits', count(found));
  line('worked', `${duration(job.elapsedMs / 1000)}${job.devices.length > 0 ? ` on ${job.devices.join(', ')}` : ''}`);
  line('started', `${age(Date.now() - job.createdMs)} ago, last worked on ${age(Date.now() - job.lastActiveMs)} ago`);
  line('priority', String(job.priority));
  if (job.call.kernel !== undefined) line('kernel', job.call.kernel);
  line('params', paramsText(job.params, Number.POSITIVE_INFINITY) || 'none');
  line('command', `millrace ${job.call.args.join(' ')}`);
  if (job.call.folder !== '') line('folder', job.call.folder);
  if (options.ranges) {
    for (const { start, end, hits } of progress.done) {
      output.event('range', { start, end, hits });
      output.line(`  ${start}:${end}  ${plural(hits, 'hit')}`);
    }
  }
  for (const { index, fields } of progress.hits) {
    const values = decode(fields) as Record<string, unknown>;
    output.event('hit', { index, hit: values });
    const texts = Object.entries(hitTexts(values, job.call.hit)).map(([name, text]) => `${name}=${text}`);
    output.line(`  ${index}  ${texts.join(' ')}`);
  }
  return Exit.ok;
}

interface ShowOptions extends StoreOptions {
  readonly ranges?: boolean;
}

/** `2^40`, `1,000,000`, or `FROM:TO`, as --space takes it. */
function spaceText({ start, length }: Range): string {
  const digits = length.toString(2);
  const isPower = digits.length > MIN_POWER && /^10*$/.test(digits);
  if (start > 0n) return `${start}:${start + length}`;
  return isPower ? `2^${digits.length - 1}` : count(length);
}

/** Smaller powers of two are easier to read as numbers. */
const MIN_POWER = 16;

/** Returns a job's state; `interrupted` if it is recorded as running or paused but no process holds it. */
function stateOf({ job, isRunning }: JobSummary): string {
  const isRecordedActive = job.state === 'running' || job.state === 'paused';
  return isRecordedActive && !isRunning ? 'interrupted' : job.state;
}

/** A job as an event. */
function eventOf(summary: JobSummary): Readonly<Record<string, unknown>> {
  const { job, done, hits } = summary;
  return {
    id: job.id,
    name: job.name,
    state: stateOf(summary),
    done,
    length: job.space.length,
    hits,
    elapsedSeconds: job.elapsedMs / 1000,
    priority: job.priority,
    devices: job.devices,
    begun: new Date(job.createdMs).toISOString(),
    active: new Date(job.lastActiveMs).toISOString(),
  };
}
