import { InvalidArgumentError } from 'commander';

/** Parsers for quantities on the command line. */

const UNITS_S: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };

/** Seconds: `90`, `90s`, `10m`, `1h30m`, `2d`. */
export function parseSeconds(text: string): number {
  const parts = [...text.toLowerCase().matchAll(/(\d+(?:\.\d+)?)(s|min|m|h|d)?/g)];
  const isFullMatch = parts.map(([part]) => part).join('') === text.toLowerCase() && parts.length > 0;
  // Several numbers are ambiguous without units.
  const isUnambiguous = parts.length === 1 || parts.every(([, , unit]) => unit !== undefined);
  const value = parts.reduce((sum, [, number, unit = 's']) => sum + Number(number) * (UNITS_S[unit] ?? 1), 0);
  if (isFullMatch && isUnambiguous && value > 0) return value;
  throw new InvalidArgumentError('Expected a time, as in 90, 90s, 10m, 1h30m or 2d.');
}

/** Bytes: `512M`, `4G`, `1.5GiB`, `1000000`. All units are binary. */
export function parseBytes(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i.exec(text) ?? [];
  const value = Math.floor(Number(number) * 1024 ** ['', 'k', 'm', 'g', 't'].indexOf(unit.toLowerCase()));
  if (value >= 1 && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError('Expected a size, as in 512M, 4G or 1.5GiB.');
}

/** A percentage, returned as 0 to 1: `50`, `12.5%`. */
export function parseShare(text: string): number {
  const [, number] = /^(\d+(?:\.\d+)?)\s*%?$/.exec(text) ?? [];
  const value = Number(number) / 100;
  if (value > 0 && value <= 1) return value;
  throw new InvalidArgumentError('Expected a percentage above 0 and up to 100.');
}

/** A number above 0, with or without its unit, which is a regular expression: `°?C`. */
export function amountParser(unit: string): (text: string) => number {
  const pattern = new RegExp(`^(\\d+(?:\\.\\d+)?)\\s*${unit}?$`, 'i');
  return (text) => {
    const value = Number(pattern.exec(text)?.[1]);
    if (value > 0 && value <= 1e6) return value;
    throw new InvalidArgumentError(`Expected a number above 0, in ${unit.replace('?', '')}.`);
  };
}
