import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { samples } from './model.js';
import { rateText } from './text.js';

/** Windows of rates, in the order of a sample's values. */
const WINDOWS = ['10 s', '60 s', '15 min'];
const COLOURS = ['--accent', '--good', '--warn', '--bad', '--dim'];

/** Rates over time: of all devices together and of each. */
export function Rates({ devices, unit }: { readonly devices: readonly string[]; readonly unit: string }) {
  const [window, setWindow] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const names = devices.length > 1 ? ['', ...devices] : [''];
  const shape = names.join();

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const make = (): void => {
      chart.current?.destroy();
      chart.current = new uPlot(optionsOf(names, unit, element), dataOf(names, window), element);
    };
    make();
    const resize = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', make);
    return () => {
      resize.disconnect();
      dark.removeEventListener('change', make);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [shape, unit, window]);
  const all = samples.value;
  useEffect(() => chart.current?.setData(dataOf(names, window)), [all]);

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

const HEIGHT = 220;

function dataOf(names: readonly string[], window: number): uPlot.AlignedData {
  const all = samples.value;
  const lines = names.map((name) => all.map(({ rates }) => rates[name]?.[window] ?? null));
  return [all.map(({ atMs }) => atMs / 1000), ...lines] as uPlot.AlignedData;
}

function optionsOf(names: readonly string[], unit: string, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => resolved(element, style.getPropertyValue(name));
  const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    scales: { y: { range: (_, _min, max) => [0, (max || 1) * 1.1] } },
    axes: [axis, { ...axis, size: 80, values: (_, ticks) => ticks.map((tick) => rateText(tick, unit)) }],
    series: [
      {},
      ...names.map((name, at) => ({
        label: name === '' ? 'total' : name,
        stroke: colour(COLOURS[at % COLOURS.length] ?? '--accent'),
        width: name === '' ? 2 : 1,
        value: (_: uPlot, value: number | null) => rateText(value, unit),
      })),
    ],
  };
}

/** A canvas does not know `light-dark()`: the browser resolves it in an element's colour. */
function resolved(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
