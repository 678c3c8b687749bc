import { useEffect, useRef } from 'preact/hooks';
import { chunks, hasChunks, state } from '../model.js';
import { count, duration } from '../text.js';

const LANE = 18;
const SPAN_MS = 10_000;

/** Chunks of the last 10 s: a lane for each stream of each device. */
export function Timeline({ jobKey }: { readonly jobKey: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const all = chunks.value;
  const lanes = [...new Set(all.map(({ device, stream }) => `${device} ${stream}`))].sort();
  const nowMs = state.value?.nowMs ?? 0;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const ratio = devicePixelRatio;
    const width = element.clientWidth;
    element.width = width * ratio;
    element.height = Math.max(1, lanes.length) * LANE * ratio;
    context.scale(ratio, ratio);
    const style = getComputedStyle(element);
    for (const chunk of all) {
      const x = width * (1 - (nowMs - chunk.startedMs) / SPAN_MS);
      const right = width * (1 - (nowMs - chunk.endedMs) / SPAN_MS);
      if (right < 0) continue;
      const y = lanes.indexOf(`${chunk.device} ${chunk.stream}`) * LANE;
      const isGood = chunk.outcome === 'counted' || chunk.outcome === 'audit';
      context.fillStyle = isGood ? style.color : style.outlineColor;
      context.globalAlpha = chunk.outcome === 'audit' ? 0.4 : 0.85;
      context.fillRect(x, y + 2, Math.max(1, right - x - 0.5), LANE - 4);
    }
  }, [all, nowMs]);
  const last = all.filter(({ endedMs }) => endedMs > nowMs - SPAN_MS);
  const longest = last.reduce((max, { startedMs, endedMs }) => Math.max(max, endedMs - startedMs), 0);
  return (
    <section class="panel" aria-labelledby="chunks">
      <div class="title">
        <h2 id="chunks">Chunks</h2>
        {hasChunks.value && (
          <a href={`/api/jobs/${jobKey}/trace.json`} download>
            Perfetto file
          </a>
        )}
      </div>
      {hasChunks.value ? (
        <>
          <p class="dim">
            The last 10 s: {count(last.length)} chunks{last.length > 0 && `, the longest ${duration(longest / 1000)}`}.
            Open the file in ui.perfetto.dev for all of them.
          </p>
          <div class="lanes">
            <ul aria-hidden="true">
              {lanes.map((lane) => (
                <li key={lane}>{lane}</li>
              ))}
            </ul>
            <canvas
              ref={canvas}
              class="timeline"
              role="img"
              aria-label={`Timeline of ${all.length} chunks on ${lanes.length} streams`}
              style={{ height: `${Math.max(1, lanes.length) * LANE}px` }}
            />
          </div>
          <p class="keys">
            <span class="key device">counted</span>
            <span class="key check">check of the device</span>
            <span class="key redone">not counted</span>
            <span class="dim end">10 s ago to now</span>
          </p>
        </>
      ) : (
        <p class="dim">Chunks are recorded for commands started with --dashboard.</p>
      )}
    </section>
  );
}
