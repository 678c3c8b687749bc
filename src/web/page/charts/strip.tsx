import { useState } from 'preact/hooks';
import type { CoverageState } from '../../live/state.js';
import { indexText, percent } from '../text.js';

export interface StripProps {
  readonly coverage: CoverageState;
  /** What has the indices that are not done: `on a device`. Undefined for a job that no process runs. */
  readonly holder?: string;
}

/** The coverage of a job: parts of the space, and how much of each is done, to be checked, on a device, redone, not needed. */
export function Strip({ coverage, holder }: StripProps) {
  const [pointed, setPointed] = useState<number>();
  const { bins } = coverage;
  const sum = (counts: CoverageState['done'] = []) => counts.reduce((all: bigint, one) => all + BigInt(one), 0n);
  const done = sum(coverage.done);
  const length = BigInt(coverage.length);
  const shares = [
    `${percent(Number((done * 1_000_000n) / length) / 1e6)} done`,
    ...(coverage.unconfirmed ? [`${indexText(sum(coverage.unconfirmed).toString())} to be checked`] : []),
    ...(holder === undefined ? [] : [`${indexText(sum(coverage.onDevice).toString())} ${holder}`]),
  ];
  const shapes = shapesOf(coverage);
  return (
    <figure class="strip">
      <svg
        viewBox={`0 0 ${bins} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Coverage: ${shares.join(', ')}`}
        onPointerMove={({ currentTarget, clientX }) => setPointed(partAt(currentTarget, clientX, bins))}
      >
        {pointed !== undefined && pointed < bins && <title>{titleOf(coverage, pointed, holder)}</title>}
        <rect class="waiting" x={0} y={0} width={bins} height={100} />
        {coverage.done.map((one, at) => (
          <rect
            key={at}
            class="target"
            {...{ x: at, y: 0, width: 1, height: 100 }}
            data-bin={at}
            data-done={String(one)}
            data-device={String(coverage.onDevice[at])}
            data-unconfirmed={String(coverage.unconfirmed?.[at] ?? 0)}
            data-redone={String(coverage.redone[at])}
            data-skipped={String(coverage.skipped?.[at] ?? 0)}
          />
        ))}
        {SHAPES.map((name) => (
          <path key={name} class={name} d={shapes[name]} />
        ))}
      </svg>
      <figcaption>
        <span class="key done">done</span>
        {coverage.unconfirmed && <span class="key unconfirmed">to be checked</span>}
        {holder !== undefined && <span class="key device">{holder}</span>}
        <span class="key waiting">waiting</span>
        {holder !== undefined && <span class="key redone">redone</span>}
        {coverage.skipped && <span class="key skipped">no longer needed</span>}
        <span class="dim">
          {coverage.of === undefined ? '' : `${coverage.of}: `}
          {indexText(coverage.start)} to {indexText((BigInt(coverage.start) + length).toString())}
        </span>
      </figcaption>
    </figure>
  );
}

/** In the order in which they are drawn. One path each: an element for each part would take a page 50 ms to make. */
const SHAPES = ['skipped', 'done', 'unconfirmed', 'device', 'redone'] as const;

/** Outlines in percent of the height. A part of which anything is done or on a device shows at least a sliver. */
function shapesOf(coverage: CoverageState): Record<(typeof SHAPES)[number], string> {
  const shapes = { skipped: '', done: '', unconfirmed: '', device: '', redone: '' };
  for (let at = 0; at < coverage.bins; at++) {
    const [from, to] = boundsOf(coverage, at);
    const height = (count: bigint): number =>
      count === 0n ? 0 : Math.max(3, Number((count * 10_000n) / (to - from)) / 100);
    const draw = (name: keyof typeof shapes, top: number, size: number): void => {
      if (size > 0) shapes[name] += `M${at} ${top}h1.02v${size}h-1.02z`;
    };
    const done = height(countIn(coverage.done, at));
    const unconfirmed = Math.min(height(countIn(coverage.unconfirmed, at)), 100 - done);
    const device = Math.min(height(countIn(coverage.onDevice, at)), 100 - done - unconfirmed);
    draw('skipped', 0, height(countIn(coverage.skipped, at)));
    draw('done', 100 - done, done);
    draw('unconfirmed', 100 - done - unconfirmed, unconfirmed);
    draw('device', 100 - done - unconfirmed - device, device);
    draw('redone', 88, countIn(coverage.redone, at) > 0n ? 12 : 0);
  }
  return shapes;
}

function titleOf(coverage: CoverageState, at: number, holder: string | undefined): string {
  const [from, to] = boundsOf(coverage, at);
  const text = (counts: CoverageState['done'] | undefined, what: string): string =>
    `${indexText(countIn(counts, at).toString())} ${what}`;
  return [
    `${indexText(from.toString())} to ${indexText(to.toString())}: ${text(coverage.done, 'done')}`,
    ...(coverage.unconfirmed ? [text(coverage.unconfirmed, 'to be checked')] : []),
    ...(holder === undefined ? [] : [text(coverage.onDevice, holder), text(coverage.redone, 'redone')]),
    ...(countIn(coverage.skipped, at) > 0n ? [text(coverage.skipped, 'no longer needed')] : []),
  ].join(', ');
}

/** The indices of a part: from, and the one after the last. */
function boundsOf(coverage: CoverageState, at: number): [from: bigint, to: bigint] {
  const [start, length, bins] = [BigInt(coverage.start), BigInt(coverage.length), BigInt(coverage.bins)];
  return [start + (length * BigInt(at)) / bins, start + (length * BigInt(at + 1)) / bins];
}

const countIn = (counts: CoverageState['done'] | undefined, at: number): bigint => BigInt(counts?.[at] ?? 0);

/** The part under the pointer. */
function partAt(strip: Element, x: number, bins: number): number {
  const { left, width } = strip.getBoundingClientRect();
  return Math.max(0, Math.min(bins - 1, Math.floor(((x - left) / width) * bins)));
}
