/** A rate with three or more digits and a decimal prefix: `22.9 MH/s`, `1,536 H/s` becomes `1.54 kH/s`. */
export function rate(perSecond: number, unit: string): string {
  return `${scaled(perSecond)}${unit}/s`;
}

/** A quantity with a decimal prefix: `4.29 G`; the caller's unit follows directly. */
export function scaled(value: number): string {
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
  let step = 0;
  let shown = Math.abs(value);
  // 999.5 would round to 1000: use the next prefix.
  while (shown >= 999.5 && step < prefixes.length - 1) {
    shown /= 1000;
    step += 1;
  }
  return `${value < 0 ? '-' : ''}${digits(shown)} ${prefixes[step] ?? ''}`;
}

/** Whole numbers with a comma at each thousand. */
export function count(value: number | bigint): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  // By hand: the first Intl.NumberFormat of a process takes 20 ms.
  const whole = typeof value === 'number' ? BigInt(Math.round(value)) : value;
  const text = String(whole < 0n ? -whole : whole);
  let shown = text.slice(-3);
  for (let end = text.length - 3; end > 0; end -= 3) shown = `${text.slice(Math.max(0, end - 3), end)},${shown}`;
  return whole < 0n ? `-${shown}` : shown;
}

/** A duration in the unit that suits it: `850 µs`, `12.4 ms`, `3.21 s`, `4 min 05 s`, `2 h 03 min`, `5 d 07 h`, `12 years`. */
export function duration(seconds: number): string {
  if (seconds < 0.9995e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 99.95) return `${digits(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 2 * DAY) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(minutes / 60);
  if (minutes < 1000 * DAY) return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
  const years = minutes / DAY / 365.25;
  return years < 1e6 ? `${count(Math.round(years))} years` : `${years.toExponential(1)} years`;
}

/** Formats an age given in ms, no finer than a second. */
export function age(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 100 ? `${seconds} s` : duration(seconds);
}

/** In minutes. */
const DAY = 24 * 60;

/** Memory in binary units: `15.6 GiB`. */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let step = 0;
  let shown = value;
  while (shown >= 1023.5 && step < units.length - 1) {
    shown /= 1024;
    step += 1;
  }
  return `${step === 0 ? shown : digits(shown)} ${units[step] ?? ''}`;
}

export const percent = (fraction: number): string => `${digits(fraction * 100)} %`;

/** `1 block`, `2 blocks`. */
export const plural = (value: number, noun: string, several = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : several}`;

/** Three significant digits, and all of the whole part. */
function digits(value: number): string {
  if (value === 0) return '0';
  if (value >= 99.95) return value.toFixed(0);
  return value.toFixed(value >= 9.995 ? 1 : 2);
}

const two = (value: number): string => value.toString().padStart(2, '0');
