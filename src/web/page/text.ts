import { bytes, count, duration, percent, rate, scaled } from '../../console/output/format.js';
import type { Index } from '../live/state.js';

export { bytes, count, duration, percent, scaled };

/** A value that is not known. */
export const NONE = '–';

export const orNone = <T>(value: T | undefined | null, text: (value: T) => string): string =>
  value === undefined || value === null ? NONE : text(value);

export const rateText = (perSecond: number | undefined | null, unit: string): string =>
  orNone(perSecond, (value) => rate(value, unit));

/** Index as text: all digits, with commas up to 2^63, else without: forty digits do not fit. */
export function indexText(value: Index): string {
  const index = BigInt(value);
  return index < 10n ** 19n ? count(index) : index.toString();
}

/**
 * The time of day, with the date if it is not today. Times beyond 50 years are not told. By hand: `toLocaleTimeString` takes
 * 30 ms the first time, and then 0.1 ms for each row of a list.
 */
export function timeText(atMs: number, nowMs: number): string {
  if (Math.abs(atMs - nowMs) > FAR_MS) return 'in over 50 years';
  const at = new Date(atMs);
  return isSameDay(at, nowMs) ? clockText(at) : `${dayText(at)} ${clockText(at)}`;
}

/** The same for a column of a list: to the minute on other days, and to the day in other years. */
export function shortTimeText(atMs: number, nowMs: number): string {
  const at = new Date(atMs);
  if (Math.abs(atMs - nowMs) > FAR_MS) return '> 50 years';
  if (isSameDay(at, nowMs)) return clockText(at);
  const isSameYear = at.getFullYear() === new Date(nowMs).getFullYear();
  return isSameYear ? `${dayText(at).slice(5)} ${clockText(at).slice(0, 5)}` : dayText(at);
}

const isSameDay = (at: Date, nowMs: number): boolean => at.toDateString() === new Date(nowMs).toDateString();

const dayText = (at: Date): string => `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;

const clockText = (at: Date): string => [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(':');

const twoDigits = (value: number): string => String(value).padStart(2, '0');

const FAR_MS = 50 * 365 * 86_400_000;

export const energyText = (joules: number): string =>
  joules < 3600 ? `${scaled(joules)}J` : `${scaled(joules / 3600)}Wh`;

/** Quotes an argument for a shell if it needs that. */
export const shellText = (args: readonly string[]): string =>
  args.map((arg) => (/^[\w@%+=:,./^-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`)).join(' ');
