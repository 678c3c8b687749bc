import { shareOf } from '../../engine/work/space.js';
import { age, count, duration, percent, plural, rate, scaled } from '../output/format.js';
import type { Style } from '../output/style.js';
import { table, width } from '../output/table.js';
import type { DeviceProgress, Rates, Status } from './status.js';

/**
 * Formats a status for a screen of a given width, in the order that hashcat's users know: job, state, times, speed by
 * device and in total, hits, progress. Text that does not fit in one line continues in the next; nothing is omitted.
 */
export function statusLines(status: Status, style: Style, columns: number, now = new Date()): string[] {
  const { name, state, seconds, hits, notes } = status;
  const started = new Date(now.getTime() - seconds * 1000);
  const line = (label: string, ...cells: readonly (string | undefined)[]) =>
    wrapCells(
      style.dim(label.padEnd(LABEL)),
      cells.filter((cell) => cell !== undefined),
      columns,
    );
  return [
    ...line('job', style.bold(name)),
    ...line('status', state === 'running' ? style.good(state) : style.warn(state)),
    ...notes.flatMap(({ label, text }) => line(label, text)),
    ...line('started', clock(started, now), `${duration(seconds)} ago`),
    ...line(...endEstimate(status, now)),
    ...speedLines(status, style, columns),
    ...line('total', rateText(status.perSecond, status.unit), ...ratesTexts(status).map(style.dim)),
    ...line('hits', count(hits)),
    ...wrapCells(style.dim('progress'.padEnd(LABEL)), progressCells(status.done, status), columns, ' '),
    ...currentLines(status, style, columns),
    ...restoreLines(status, style, columns),
  ];
}

/** Formats a status as one line of a log, in xmrig's style. */
export function statusLine(status: Status): string {
  const { rates, unit, devices, hits, state, etaSeconds, odds, fraction, done } = status;
  const fed = devices.map(({ id, fed: share, temperatureC, held }) => {
    const heat = temperatureC === undefined ? '' : ` ${Math.round(temperatureC)} °C`;
    return `${id}${share === undefined ? '' : ` fed ${percent(share)}`}${heat}${held === undefined ? '' : ` ${held}`}`;
  });
  return [
    speedText(rates, status.perSecond, unit),
    ...(state === 'running' ? [] : [state]),
    fraction === undefined ? count(done) : percent(fraction),
    ...(etaSeconds === undefined ? [] : [timeLeft(etaSeconds, odds)]),
    ...(odds?.expectedSeconds === undefined ? [] : [`a hit in about ${duration(odds.expectedSeconds)}`]),
    plural(hits, 'hit'),
    ...fed,
  ].join('  ');
}

const LABEL = 'estimated'.length + 2;
const NARROW = 60;

/** Lays out cells after a label, on as many lines as needed. */
function wrapCells(label: string, cells: readonly string[], columns: number, gap = '  '): string[] {
  // On a narrow screen the cells need the width of the margin.
  const margin = ' '.repeat(columns < NARROW ? 2 : LABEL);
  const lines: string[] = [];
  let current = label;
  for (const [at, cell] of cells.entries()) {
    const next = at === 0 || current === margin ? current + cell : current + gap + cell;
    if (width(next) <= columns || at === 0) current = next;
    else {
      lines.push(current);
      current = margin + cell;
    }
  }
  return [...lines, current];
}

function speedLines({ devices, unit }: Status, style: Style, columns: number): string[] {
  const rows = devices.map((device) => cellsOf(device, unit, style));
  // A column that is empty for all devices is omitted.
  const known = (rows[0] ?? []).flatMap((_, at) => (rows.some((row) => row[at] !== '') ? [at] : []));
  const label = (at: number): string => style.dim((at === 0 ? 'speed' : '').padEnd(LABEL));
  const aligned = table(
    rows.map((row) => known.map((at) => row[at] ?? '')),
    { right: known.map((_, at) => at).filter((at) => at > 0) },
  );
  if (aligned.every((text) => LABEL + width(text) <= columns)) return aligned.map((text, at) => label(at) + text);
  return rows.flatMap((row, at) =>
    wrapCells(
      label(at),
      row.filter((cell) => cell !== ''),
      columns,
    ),
  );
}

function cellsOf(device: DeviceProgress, unit: string, style: Style): string[] {
  const { id, perSecond, chunkMs, lanes, items, fed, queueDepth, activeStreams, occupancy } = device;
  const { perJoule, temperatureC, powerW, held } = device;
  return [
    id,
    rateText(perSecond, unit),
    chunkMs === undefined ? '' : duration(chunkMs / 1000),
    items === undefined ? '' : `${lanes === undefined ? '' : `${lanes} × `}${scaled(items).trimEnd()}`,
    fed === undefined ? '' : `fed ${percent(fed)}`,
    queueDepth === undefined ? '' : `${plural(queueDepth, 'chunk')} on ${plural(activeStreams ?? 0, 'stream')}`,
    occupancy === undefined ? '' : `${percent(occupancy)} full`,
    temperatureC === undefined ? '' : `${Math.round(temperatureC)} °C`,
    powerW === undefined ? '' : `${Math.round(powerW)} W`,
    perJoule === undefined ? '' : `${scaled(perJoule)}${unit === '' ? 'items' : unit}/J`,
    held === undefined ? '' : style.warn(held),
  ];
}

type LabelledCells = [label: string, ...cells: (string | undefined)[]];

/** A search that ends with a hit may end earlier. */
const timeLeft = (seconds: number, odds: Status['odds']): string =>
  `${duration(seconds)} left${odds === undefined ? '' : ' at most'}`;

/** The estimated end; for a search that ends with a hit, the expected time of one. */
function endEstimate({ odds, etaSeconds }: Status, now: Date): LabelledCells {
  if (odds === undefined) {
    if (etaSeconds === undefined) return ['estimated', UNKNOWN];
    const end = new Date(now.getTime() + etaSeconds * 1000);
    const isFar = Number.isNaN(end.getTime()) || etaSeconds > FAR_S;
    return ['estimated', isFar ? undefined : clock(end, now), timeLeft(etaSeconds, odds)];
  }
  const { expectedSeconds, expectedHits, luck } = odds;
  const isKnown = expectedSeconds !== undefined || etaSeconds !== undefined;
  return [
    'expected',
    isKnown ? undefined : UNKNOWN,
    expectedSeconds === undefined ? undefined : `a hit in ${duration(expectedSeconds)}`,
    etaSeconds === undefined ? undefined : timeLeft(etaSeconds, odds),
    `${expectedHits.toFixed(expectedHits < 10 ? 2 : 0)} by now`,
    luck === undefined ? undefined : `luck ${percent(luck)}`,
  ];
}

/** A date that many years away is not informative. */
const FAR_S = 50 * 365 * 86_400;

function progressCells(done: bigint, { length }: Status): string[] {
  if (length === undefined) return [count(done)];
  return [indexText(done, length), 'of', indexText(length, length), `(${percent(shareOf(done, length))})`];
}

/** People see the share; numbers of forty digits are for programs. */
const indexText = (value: bigint, length: bigint): string =>
  length >= 10n ** 15n ? scaled(Number(value)).trimEnd() : count(value);

/** The indices on devices now. */
function currentLines({ current }: Status, style: Style, columns: number): string[] {
  if (current === undefined) return [];
  const cells = current === 'none' ? [current] : [count(current.from), 'to', count(current.to)];
  return wrapCells(style.dim('indices'.padEnd(LABEL)), cells, columns, ' ');
}

/** Where the next run would resume if this one were killed now. */
function restoreLines(status: Status, style: Style, columns: number): string[] {
  const { restorePoint } = status;
  if (restorePoint === undefined) return [];
  const cells = [...progressCells(restorePoint.done, status), `stored ${age(restorePoint.secondsAgo * 1000)} ago`];
  return wrapCells(style.dim('restore'.padEnd(LABEL)), cells, columns, ' ');
}

/** Shown until there is a figure. */
const UNKNOWN = 'measuring';

const rateText = (perSecond: number | undefined, unit: string): string =>
  perSecond === undefined ? UNKNOWN : rate(perSecond, unit);

/** Rates over the windows that the job has run for, and the highest. */
const ratesTexts = ({ rates, maxPerSecond }: Status): string[] => [
  ...knownRates(rates).map(({ name, perSecond }) => `${name} ${scaled(perSecond).trimEnd()}`),
  ...(maxPerSecond === undefined ? [] : [`max ${scaled(maxPerSecond).trimEnd()}`]),
];

/** `speed 10s/60s 20.0 MH/s / 19.8 MH/s`; before 10 s the rate since the start. */
function speedText(rates: Rates, perSecond: number | undefined, unit: string): string {
  const known = knownRates(rates);
  if (known.length === 0) return `speed ${rateText(perSecond, unit)}`;
  const names = known.map(({ short }) => short).join('/');
  return `speed ${names} ${known.map((one) => rate(one.perSecond, unit)).join(' / ')}`;
}

const knownRates = ({ tenSeconds, minute, quarterHour }: Rates) =>
  [
    { name: '10 s', short: '10s', perSecond: tenSeconds },
    { name: '60 s', short: '60s', perSecond: minute },
    { name: '15 min', short: '15m', perSecond: quarterHour },
  ].flatMap(({ perSecond, ...names }) => (perSecond === undefined ? [] : { ...names, perSecond }));

/** Formats the time of day, with the date if it is not today. */
function clock(time: Date, now: Date): string {
  const pad = (value: number): string => String(value).padStart(2, '0');
  const hours = [time.getHours(), time.getMinutes(), time.getSeconds()].map(pad).join(':');
  if (time.toDateString() === now.toDateString()) return hours;
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${hours}`;
}
