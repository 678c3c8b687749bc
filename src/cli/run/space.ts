import { InvalidArgumentError } from 'commander';
import { between, type Range } from '../../engine/index.js';
import { parseWholeNumber } from './values.js';

/** Parses `--space`: a number of indices from 0, or `FROM:TO`, where TO is excluded. */
export function parseSpace(text: string): Range {
  const [first = '', second, ...more] = text.split(':');
  const [from, to] =
    second === undefined ? [0n, parseWholeNumber(first)] : [parseWholeNumber(first), parseWholeNumber(second)];
  if (more.length > 0 || from === undefined || to === undefined || from < 0n || from >= to || to > 1n << 128n) {
    throw new InvalidArgumentError(
      'Expected a number of indices, as in 2^40, 1e12 or 0x1000, or FROM:TO; at most 2^128.',
    );
  }
  return between(from, to);
}

/** Parses one index. */
export function parseIndex(text: string): bigint {
  const index = parseWholeNumber(text);
  if (index === undefined || index < 0n || index >= 1n << 128n) {
    throw new InvalidArgumentError('Expected an index, as in 42, 2^40 or 0x1000; below 2^128.');
  }
  return index;
}
