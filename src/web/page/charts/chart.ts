import uPlot from 'uplot';
import { orNone, rateText, timeText } from '../text.js';

/** A chart of rates over time. A file of its own: its library takes as long to load as the rest of the page. */
export interface Chart {
  set(data: ChartData): void;
  resize(): void;
  end(): void;
}

/** Times in seconds, then the values of each line. */
export type ChartData = readonly (readonly (number | null)[])[];

/** `names` are those of the lines; the empty one is the total. */
export function createChart(element: HTMLElement, names: readonly string[], unit: string, data: ChartData): Chart {
  const chart = new uPlot(optionsOf(names, unit, element), data as unknown as uPlot.AlignedData, element);
  return {
    set: (next) => chart.setData(next as unknown as uPlot.AlignedData),
    resize: () => chart.setSize({ width: element.clientWidth, height: HEIGHT }),
    end: () => chart.destroy(),
  };
}

const COLOURS = ['--accent', '--good', '--warn', '--bad', '--dim'];
const HEIGHT = 220;

function optionsOf(names: readonly string[], unit: string, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => resolved(element, style.getPropertyValue(name));
  const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    scales: { y: { range: (_, _min, max) => [0, (max || 1) * 1.1] } },
    padding: [null, 32, null, null], // half of the last time
    axes: [
      { ...axis, space: 80, values: (_, ticks) => ticks.map(timeOf) },
      { ...axis, size: 80, values: (_, ticks) => ticks.map((tick) => rateText(tick, unit)) },
    ],
    series: [
      { label: 'time', value: (_: uPlot, seconds: number | null) => orNone(seconds, timeOf) },
      ...names.map((name, at) => ({
        label: name === '' ? 'total' : name,
        stroke: colour(COLOURS[at % COLOURS.length] ?? '--accent'),
        width: name === '' ? 2 : 1,
        value: (_: uPlot, value: number | null) => rateText(value, unit),
      })),
    ],
  };
}

const timeOf = (seconds: number): string => timeText(seconds * 1000, Date.now());

/** A canvas does not know `light-dark()`: the browser resolves it in an element's colour. */
function resolved(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
