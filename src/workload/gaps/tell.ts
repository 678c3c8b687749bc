import type { Output } from '../../console/output.js';
import type { Device } from '../../device/device.js';
import type { PieceWork } from './flow.js';
import { decimal, type Wanted } from './given.js';
import type { Plan } from './plan.js';
import { difficulty, merit } from './reference.js';
import type { Gap } from './search.js';

/** A gap as it is told: the fields of its event, and what a program that is started for it finds in its environment. */
export interface Told {
  readonly index: bigint;
  readonly gap: number;
  readonly merit: number;
  readonly start: bigint;
  readonly offset: bigint;
  readonly difficulty: bigint;
}

/** Tells a gap, unless it has the length but not quite what was asked for. `list`: in the lists' format, by whom. */
export function tellGap(output: Output, wanted: Wanted, found: Gap, list?: string): Told | undefined {
  const { target, merit: least, work } = wanted;
  const { index, offset, start, end } = found;
  const [reached, gap, reachedMerit] = [difficulty(start, end), Number(end - start), merit(start, end)];
  const isRight = work === undefined || (offset >= 0n && offset >> BigInt(work.shift) === 0n);
  const isEnough = target === undefined || reached >= target;
  if (target !== undefined) diagnoseGap(output, wanted, found, reached, isEnough && isRight);
  if (!isEnough || !isRight || (least !== undefined && reachedMerit < least) || gap < wanted.leastGap) return undefined;
  const shown = decimal(reachedMerit);
  const proof = work && { nonce: work.nonce, shift: work.shift, adder: offset, hash: work.hash.toString(16) };
  const told = { gap, merit: Number(shown), start, offset, difficulty: reached, ...proof };
  output.event('gap', told);
  output.line(list === undefined ? `${gap}  ${shown}  ${start}` : listLine(found, list));
  if (work && list === undefined)
    output.line(output.style.dim(`  shift ${work.shift}  adder ${offset}  difficulty ${decimal(reached)}`));
  return { index, ...told };
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
    decimal(merit(start, end), 4).padStart(8),
    String(prime.length).padStart(7),
    prime,
  ];
  return fields.join(' ');
}

/** What a miner would submit, whether it is good enough or not. */
function diagnoseGap(
  output: Output,
  { target = 0n, work }: Wanted,
  { offset }: Gap,
  reached: bigint,
  isValid: boolean,
): void {
  output.diagnose?.(candidateLine({ offset, target, reached, hash: work?.hash, isValid }));
}

/** A line of the log, with the names that known miners have for these figures. */
export function candidateLine(candidate: Candidate): string {
  const { offset, target, reached, hash, isValid } = candidate;
  const ratio = (Number(reached) / Number(target)).toFixed(6);
  const ofHash = hash === undefined ? '' : ` mpz_hash=0x${hash.toString(16)}`;
  return `submit-candidate: offset=${offset} target=${target} pow_valid=${isValid} ratio=${ratio} share_difficulty=${reached}${ofHash} mpz_adder=0x${offset.toString(16)}`;
}

export interface Candidate {
  readonly offset: bigint;
  readonly target: bigint;
  readonly reached: bigint;
  readonly hash: bigint | undefined;
  readonly isValid: boolean;
}

/** A line for each window of a piece, and one for the piece. */
export function diagnosePiece(output: Output, { start }: Pick<Wanted, 'start'>, work: PieceWork): void {
  if (output.diagnose === undefined) return;
  const { device, piece, windows, counts, candidates, tests, limbs, found } = work;
  const size = Math.ceil(piece.count / windows);
  for (const [w, count] of counts.entries()) {
    const from = piece.start + BigInt(w * size);
    const length = Math.min(size, piece.count - w * size);
    const gaps = found.flatMap(({ index, window }) => (window === w ? [` gap=${index}`] : []));
    const round = from / BigInt(size);
    output.diagnose(`sieve window ${length} start=${start + from} round=${round} candidates=${count}${gaps.join('')}`);
  }
  output.diagnose(
    `batched ${windows} windows from ${piece.start}; candidates=${candidates} tests=${tests} limbs=${limbs} device=${device.info.id}`,
  );
}

/** How a device is going to search. */
export function diagnosePlan(output: Output, { info: { id } }: Device, plan: Plan): void {
  const { window, depth, tileBits, perChain, threads, limb } = plan;
  output.diagnose?.(
    `plan of ${id}: window=${window} depth=${depth} tile=${tileBits} chain=${perChain} threads=${threads} limb=${limb}`,
  );
}

export function diagnoseStreams(output: Output, devices: readonly { readonly id: string }[], streams: number): void {
  for (const { id } of devices) {
    const handles = Array.from({ length: streams }, (_, at) => `[${at}]=${id}/${at}`);
    output.diagnose?.(`streams count=${streams} handles: ${handles.join(' ')}`);
  }
}
