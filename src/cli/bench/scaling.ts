import type { WorkloadBench } from '../../bench/case.js';
import type { Scaling, SeveralDevices } from '../../bench/saved.js';
import { fitPoints, measureDevicesScaling, measurePoints, type ScalableWork } from '../../bench/scaling.js';
import { bytes, count, duration, percent, plural, rate } from '../../console/output/format.js';
import type { Output } from '../../console/output/output.js';
import { table } from '../../console/output/table.js';
import type { Device } from '../../device/device.js';
import { virtualDevices } from '../../engine/testing/virtual.js';

/** Measures cost against work over four decades on the first device, then the same work on one, two and more devices. */
export async function measureScaling(
  output: Output,
  benched: readonly WorkloadBench[],
  devices: readonly Device[],
): Promise<{ readonly scaling: readonly Scaling[]; readonly several: readonly SeveralDevices[] }> {
  const [first] = devices;
  const all: Scaling[] = [];
  const several: SeveralDevices[] = [];
  for (const { workload, sized } of benched) {
    if (!first || !sized) continue;
    const own = await sized([first]);
    const points = await measurePoints(own);
    await own.close();
    const fit = fitPoints(points);
    all.push({ workload, device: first.info.id, unit: own.unit, points, fit });
    output.event('scaling', { workload, device: first.info.id, unit: own.unit, points, fit });
    output.line(`\n${output.style.bold(`${workload}: cost against work, on ${first.info.id}`)}`);
    const rows = points.map(({ work, seconds, residentBytes }) => [
      count(work),
      duration(seconds),
      rate(work / seconds, own.unit),
      bytes(residentBytes),
    ]);
    for (const line of table([[own.unit, 'time', '', 'memory'], ...rows], { right: [0, 1, 2, 3] })) output.line(line);
    output.line(
      `time = ${duration(Math.max(0, fit.fixed))} + work / ${rate(fit.perSecond, own.unit)}, off by ${percent(fit.off)} at most`,
    );
    if (devices.length === 1 && own.perItem === undefined) continue;
    const { unit, maxWork, perItem = 1 } = own;
    const rated = { unit, maxWork, perItem, perSecond: fit.perSecond };
    several.push(await measureDevices(output, { workload, sized }, first, devices, rated));
  }
  return { scaling: all, several };
}

/** Share of the real device's speed that each virtual device gets, so that the real device does not limit them. */
const VIRTUAL_SHARE = 1 / 16;
const VIRTUAL_DEVICES = 4;
/** Time on one virtual device: far above the milliseconds that any job needs to start and end. */
const VIRTUAL_SECONDS = 1.5;

interface MeasuredRate extends Required<Pick<ScalableWork, 'unit' | 'maxWork' | 'perItem'>> {
  readonly perSecond: number;
}

async function measureDevices(
  output: Output,
  { workload, sized }: Required<Pick<WorkloadBench, 'sized'>> & Pick<WorkloadBench, 'workload'>,
  first: Device,
  devices: readonly Device[],
  { unit, maxWork, perItem, perSecond }: MeasuredRate,
): Promise<SeveralDevices> {
  const isVirtual = devices.length === 1;
  const spec = { speed: (perSecond * VIRTUAL_SHARE) / perItem };
  const several = isVirtual ? virtualDevices(first, Array(VIRTUAL_DEVICES).fill(spec)) : devices;
  const work = isVirtual ? Math.max(1, Math.round(perSecond * VIRTUAL_SHARE * VIRTUAL_SECONDS)) : maxWork;
  const found = await measureDevicesScaling(several, (some) => sized(some, work));
  const what = isVirtual
    ? `virtual devices made of ${first.info.id}, each limited to ${rate(perSecond * VIRTUAL_SHARE, unit)}`
    : 'devices';
  output.event('scaling-devices', { workload, isVirtual, unit, found });
  output.line(`on several ${what}:`);
  const [alone] = found;
  const rows = found.map(({ devices: number, perSecond: reached }) => [
    plural(number, 'device'),
    rate(reached, unit),
    `${(reached / (alone?.perSecond ?? Number.NaN)).toFixed(2)}×`,
  ]);
  for (const line of table(rows, { right: [1, 2] })) output.line(line);
  return { workload, isVirtual, unit, found };
}
