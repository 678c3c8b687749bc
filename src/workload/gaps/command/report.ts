import type { Output } from '../../../console/output/output.js';
import type { Device } from '../../../device/device.js';
import { expectedTrace, wordsFrom } from '../job/candidate-trace.js';
import type { PieceWork } from '../job/flow.js';
import type { Gap } from '../job/search.js';
import { limbsOf } from '../kernel/chain-kernel.js';
import type { Plan } from '../kernel/plan.js';
import { difficulty, merit } from '../kernel/reference.js';
import { formatFixed, type SearchSpec } from './number-options.js';

/** A reported gap: the fields of its event, and of the environment of a program started for it. */
export interface ReportedGap {
  readonly index: bigint;
  readonly gap: number;
  readonly merit: number;
  readonly start: bigint;
  readonly offset: bigint;
  readonly difficulty: bigint;
}

/** Reports a gap, unless difficulty, merit or adder miss the bounds. `list`: the discoverer, for the format of the lists. */
export function reportGap(output: Output, spec: SearchSpec, found: Gap, list?: string): ReportedGap | undefined {
  const { target, merit: minMerit, work } = spec;
  const { index, offset, start, end } = found;
  const [reached, gap, reachedMerit] = [difficulty(start, end), Number(end - start), merit(start, end)];
  const isInRange = work === undefined || (offset >= 0n && offset >> BigInt(work.shift) === 0n);
  const isEnough = target === undefined || reached >= target;
  if (target !== undefined) diagnoseGap(output, spec, found, reached, isEnough && isInRange);
  if (!isEnough || !isInRange || (minMerit !== undefined && reachedMerit < minMerit) || gap < spec.minGap)
    return undefined;
  const shown = formatFixed(reachedMerit);
  const proof = work && { nonce: work.nonce, shift: work.shift, adder: offset, hash: work.hash.toString(16) };
  const fields = { gap, merit: Number(shown), start, offset, difficulty: reached, ...proof };
  output.event('gap', fields);
  output.line(list === undefined ? `${gap}  ${shown}  ${start}` : listLine(found, list));
  if (work && list === undefined)
    output.line(output.style.dim(`  shift ${work.shift}  adder ${offset}  difficulty ${formatFixed(reached)}`));
  return { index, ...fields };
}

/**
 * A line of the lists of first known gaps: length, class (common, not known to be the first, between probable primes),
 * discoverer, year, merit, digits, the prime.
 */
export function listLine({ start, end }: Pick<Gap, 'start' | 'end'>, discoverer: string, now = new Date()): string {
  const prime = start.toString();
  const fields = [
    String(end - start).padStart(9),
    ' C?P',
    discoverer.padEnd(8).slice(0, 8),
    String(now.getUTCFullYear()),
    formatFixed(merit(start, end), 4).padStart(8),
    String(prime.length).padStart(7),
    prime,
  ];
  return fields.join(' ');
}

/** Logs a candidate for submission, even if it does not reach the target. */
function diagnoseGap(
  output: Output,
  { target = 0n, work }: SearchSpec,
  { offset }: Gap,
  reached: bigint,
  isValid: boolean,
): void {
  output.diagnose?.(candidateLine({ offset, target, reached, hash: work?.hash, isValid }));
}

/** A line of the log, with the known miners' names for these figures. */
export function candidateLine(candidate: SubmitCandidate): string {
  const { offset, target, reached, hash, isValid } = candidate;
  const ratio = (Number(reached) / Number(target)).toFixed(6);
  const ofHash = hash === undefined ? '' : ` mpz_hash=0x${hash.toString(16)}`;
  return `submit-candidate: offset=${offset} target=${target} pow_valid=${isValid} ratio=${ratio} share_difficulty=${reached}${ofHash} mpz_adder=0x${offset.toString(16)}`;
}

export interface SubmitCandidate {
  readonly offset: bigint;
  readonly target: bigint;
  readonly reached: bigint;
  readonly hash: bigint | undefined;
  readonly isValid: boolean;
}

/** Logs a line for each window of a piece, one for the piece, and its traces. */
export function diagnosePiece(output: Output, { start }: Pick<SearchSpec, 'start'>, work: PieceWork): void {
  if (output.diagnose === undefined) return;
  const { device, piece, windows, counts, candidates, tests, shape, found } = work;
  const size = Math.ceil(piece.count / windows);
  for (const [w, count] of counts.entries()) {
    const from = piece.start + BigInt(w * size);
    const length = Math.min(size, piece.count - w * size);
    const gaps = found.flatMap(({ index, window }) => (window === w ? [` gap=${index}`] : []));
    const round = from / BigInt(size);
    output.diagnose(`sieve window ${length} start=${start + from} round=${round} candidates=${count}${gaps.join('')}`);
  }
  const limbs = `${limbsOf(shape)}×${shape.limb}`;
  output.diagnose(
    `batched ${windows} windows from ${piece.start}; candidates=${candidates} tests=${tests} limbs=${limbs} device=${device.info.id}`,
  );
  for (const line of traceLines(start, work)) output.diagnose(line);
}

/**
 * The piece's base as computed by the host, then a line for each traced candidate: the words of its number and of Fermat's
 * residue, and the carries out of the limbs of the sum. Words are 32 bits wide, least significant first, so that devices
 * with different limbs can be compared; if a limb has two words, its carry stands below the second.
 */
function traceLines(start: bigint, { device, shape, base, traces }: PieceWork): string[] {
  if (traces.length === 0) return [];
  const { id } = device.info;
  const wordCount = traces[0]?.words.length ?? 0;
  const lines = traces.map(({ added, words, carries, residue }, at) => {
    const expected = expectedTrace(shape, base, added);
    const isSame = hex(expected.words) === hex(words) && expected.carries.join() === carries.join();
    const parity = isSame
      ? 'same'
      : `differs words: ${hex(expected.words)} carries: ${carryText(expected.carries, wordCount)}`;
    const offset = base - start + BigInt(added);
    return `trace sample ${at} offset=${offset} added=${added} words: ${hex(words)} carries: ${carryText(carries, wordCount)} residue: ${hex(residue)} host=${parity} device=${id}`;
  });
  return [`trace base of ${id}: ${hex(wordsFrom(base, wordCount))}`, ...lines];
}

const hex = (words: Uint32Array): string => Array.from(words, (word) => word.toString(16).padStart(8, '0')).join(' ');

function carryText(carries: Uint32Array, wordCount: number): string {
  const perLimb = wordCount / carries.length;
  return Array.from(carries, (carry) => `${'- '.repeat(perLimb - 1)}${carry}`).join(' ');
}

/** Logs a device's plan. */
export function diagnosePlan(output: Output, { info: { id } }: Device, plan: Plan): void {
  const { window, depth, tileBits, perChain, threads, width, limb } = plan;
  output.diagnose?.(
    `plan of ${id}: window=${window} depth=${depth} tile=${tileBits} ${width > 0 ? `round=${width}` : `chain=${perChain}`} threads=${threads} limb=${limb}`,
  );
}

/** Logs the streams of each device by the runtime's handles, or by numbers if it has none. */
export async function diagnoseStreams(
  output: Pick<Output, 'diagnose'>,
  devices: readonly Device[],
  streams: number,
): Promise<void> {
  if (output.diagnose === undefined) return;
  for (const device of devices) {
    const { id } = device.info;
    const handles = (await device.streamHandles?.()) ?? [];
    const names = Array.from({ length: handles.length || streams }, (_, at) => {
      const handle = handles[at];
      return `[${at}]=${handle === undefined ? `${id}/${at}` : `0x${handle.toString(16)}`}`;
    });
    output.diagnose(`streams count=${names.length} handles: ${names.join(' ')} device=${id}`);
  }
}
