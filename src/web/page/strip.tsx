import type { CoverageState } from '../live/state.js';
import { indexText, percent } from './text.js';

/** The coverage of a job: parts of the space, and how much of each is done, on a device, waiting, redone, not needed. */
export function Strip({ coverage }: { readonly coverage: CoverageState }) {
  const { bins } = coverage;
  const parts = Array.from({ length: bins }, (_, at) => partOf(coverage, at));
  const sum = (name: 'done' | 'onDevice' | 'redone') => coverage[name].reduce((all, one) => all + BigInt(one), 0n);
  const done = sum('done');
  const length = BigInt(coverage.length);
  const text = `${percent(Number((done * 1_000_000n) / length) / 1e6)} done, ${indexText(sum('onDevice').toString())} on devices`;
  return (
    <figure class="strip">
      <svg viewBox={`0 0 ${bins} 100`} preserveAspectRatio="none" role="img" aria-label={`Coverage: ${text}`}>
        <rect class="waiting" x={0} y={0} width={bins} height={100} />
        {parts.map(({ at, done, onDevice, redone, skipped, title }) => (
          <g
            key={at}
            data-bin={at}
            data-done={String(coverage.done[at])}
            data-device={String(coverage.onDevice[at])}
            data-skipped={String(coverage.skipped?.[at] ?? 0)}
          >
            <title>{title}</title>
            <rect class="target" x={at} y={0} width={1} height={100} />
            {skipped > 0 && <rect class="skipped" x={at} y={0} width={1.02} height={skipped} />}
            <rect class="done" x={at} y={100 - done} width={1.02} height={done} />
            <rect class="device" x={at} y={100 - done - onDevice} width={1.02} height={onDevice} />
            {redone && <rect class="redone" x={at} y={88} width={1.02} height={12} />}
          </g>
        ))}
      </svg>
      <figcaption>
        <span class="key done">done</span>
        <span class="key device">on a device</span>
        <span class="key waiting">waiting</span>
        <span class="key redone">redone</span>
        {coverage.skipped && <span class="key skipped">no longer needed</span>}
        <span class="dim">
          {coverage.of === undefined ? '' : `${coverage.of}: `}
          {indexText(coverage.start)} to {indexText((BigInt(coverage.start) + length).toString())}
        </span>
      </figcaption>
    </figure>
  );
}

/** Heights in percent. A part of which anything is done or on a device shows at least a sliver. */
function partOf(coverage: CoverageState, at: number) {
  const [start, length, bins] = [BigInt(coverage.start), BigInt(coverage.length), BigInt(coverage.bins)];
  const from = start + (length * BigInt(at)) / bins;
  const to = start + (length * BigInt(at + 1)) / bins;
  const size = to - from;
  const height = (count: bigint): number => (count === 0n ? 0 : Math.max(3, Number((count * 10_000n) / size) / 100));
  const done = BigInt(coverage.done[at] ?? 0);
  const active = BigInt(coverage.onDevice[at] ?? 0);
  const again = BigInt(coverage.redone[at] ?? 0);
  const unneeded = BigInt(coverage.skipped?.[at] ?? 0);
  const doneHeight = height(done);
  const title = `${indexText(from.toString())} to ${indexText(to.toString())}: ${indexText(done.toString())} done, ${indexText(active.toString())} on a device, ${indexText(again.toString())} redone${unneeded > 0n ? `, ${indexText(unneeded.toString())} no longer needed` : ''}`;
  const onDevice = Math.min(height(active), 100 - doneHeight);
  return { at, done: doneHeight, onDevice, redone: again > 0n, skipped: height(unneeded), title };
}
