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
  showLast(chart);
  return {
    set: (next) => {
      chart.setData(next as unknown as uPlot.AlignedData);
      showLast(chart);
    },
    resize: () => chart.setSize({ width: element.clientWidth, height: HEIGHT }),
    end: () => chart.destroy(),
  };
}

/** The legend has the values under the pointer; without one, the last. */
function showLast(chart: uPlot): void {
  if ((chart.cursor.left ?? -1) < 0) chart.setLegend({ idx: chart.data[0].length - 1 });
}

const COLOURS = ['--accent', '--good', '--warn', '--bad', '--dim'];
const HEIGHT = 220;
/** The least time that is drawn: of one sample alone, the chart would choose years. */
const MIN_SECONDS = 10;

function optionsOf(names: readonly string[], unit: string, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => resolved(element, style.getPropertyValue(name));
  const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    scales: {
      x: { range: (_, min, max) => [Math.min(min, max - MIN_SECONDS), max] },
      y: { range: (_, _min, max) => [0, (max || 1) * 1.1] },
    },
    hooks: { setCursor: [showLast] },
    cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
    padding: [null, 32, null, null], // half of the last time
    axes: [
      { ...axis, size: 32, space: 90, values: (_, ticks) => ticks.map(timeOf) },
      { ...axis, size: 80, values: (_, ticks) => ticks.map((tick) => rateText(tick, unit)) },
    ],
    series: [
      { label: 'time', value: (_: uPlot, seconds: number | null) => orNone(seconds, timeOf) },
      ...names.map((name, at) => ({
        label: name === '' ? 'total' : name,
        stroke: colour(COLOURS[at % COLOURS.length] ?? '--accent'),
        width: name === '' ? 2 : 1,
        points: { show: (chart: uPlot) => chart.data[0].length < 2 },
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
