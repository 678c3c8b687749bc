import { useEffect, useRef, useState } from 'preact/hooks';
import { samples } from '../model.js';
import { rateText } from '../text.js';
import type { Chart, ChartData } from './chart.js';

/** Windows of rates, in the order of a sample's values. */
const WINDOWS = ['10 s', '60 s', '15 min'];

/** Rates over time: of all devices together and of each. */
export function Rates({ devices, unit }: { readonly devices: readonly string[]; readonly unit: string }) {
  const [window, setWindow] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | undefined>(undefined);
  const names = devices.length > 1 ? ['', ...devices] : [''];
  const shape = names.join();

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    let isOver = false;
    const make = async (): Promise<void> => {
      const { createChart } = await import('./chart.js');
      if (isOver) return;
      chart.current?.end();
      chart.current = createChart(element, names, unit, dataOf(names, window));
    };
    const remake = (): void => void make().catch(() => undefined); // the connection's state is shown above
    remake();
    const resize = new ResizeObserver(() => chart.current?.resize());
    resize.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', remake);
    return () => {
      isOver = true;
      resize.disconnect();
      dark.removeEventListener('change', remake);
      chart.current?.end();
      chart.current = undefined;
    };
  }, [shape, unit, window]);
  const all = samples.value;
  useEffect(() => chart.current?.set(dataOf(names, window)), [all]);

  const last = all.at(-1)?.rates[''];
  const values = all.flatMap(({ rates }) => rates['']?.[window] ?? []);
  const mean = values.reduce((sum, one) => sum + one, 0) / Math.max(1, values.length);
  return (
    <section class="panel" aria-labelledby="rates">
      <div class="title">
        <h2 id="rates">Rate</h2>
        <fieldset class="choice">
          <legend class="hidden">Averaged over</legend>
          {WINDOWS.map((name, at) => (
            <label key={name}>
              <input type="radio" name="window" checked={at === window} onChange={() => setWindow(at)} />
              {name}
            </label>
          ))}
        </fieldset>
      </div>
      <p class="dim" data-test="rates">
        {WINDOWS.map((name, at) => `${name} ${rateText(last?.[at], unit)}`).join(' · ')}
        {values.length > 0 &&
          ` · min ${rateText(Math.min(...values), unit)} · avg ${rateText(mean, unit)} · max ${rateText(Math.max(...values), unit)}`}
      </p>
      <div ref={box} class="chart" role="img" aria-label={`Rate over time, now ${rateText(last?.[window], unit)}`} />
    </section>
  );
}

function dataOf(names: readonly string[], window: number): ChartData {
  const all = samples.value;
  const lines = names.map((name) => all.map(({ rates }) => rates[name]?.[window] ?? null));
  return [all.map(({ atMs }) => atMs / 1000), ...lines];
}
