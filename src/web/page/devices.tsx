import type { DeviceState, ProcessState } from '../live/state.js';
import { Cell } from './facts.js';
import { bytes, duration, energyText, NONE, orNone, percent, rateText } from './text.js';

/** The devices of processes: what they do, and how warm they are. */
export function Devices({ processes }: { readonly processes: readonly ProcessState[] }) {
  const rows = processes.flatMap((process) =>
    (process.progress?.devices ?? []).map((device) => ({ process, device, name: nameOf(process, device) })),
  );
  const isMany = processes.length > 1;
  return (
    <section class="panel" aria-labelledby="devices">
      <h2 id="devices">Devices</h2>
      <table class="cards">
        <thead>
          <tr>
            {['device', ...(isMany ? ['job'] : []), ...COLUMNS].map((name) => (
              <th key={name} scope="col" title={MEANINGS[name]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ process, device, name }) => (
            <tr key={`${process.key} ${device.id}`} data-device={device.id}>
              <th scope="row">
                {device.id} <span class="dim">{name}</span> {device.held && <span class="warn">{device.held}</span>}
              </th>
              {isMany && <td data-label="job">{process.name}</td>}
              {cellsOf(device, process.unit).map((text, at) => (
                <Cell key={COLUMNS[at]} name={COLUMNS[at]} text={text} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const COLUMNS = ['rate', 'share', 'fed', 'chunk', 'queue', 'temperature', 'power', 'memory', 'energy'];

/** What the names do not say. */
const MEANINGS: Readonly<Record<string, string>> = {
  share: 'share of the work of this job since it started',
  fed: 'share of the time in which the device had work',
  chunk: 'time of the last chunk',
  queue: 'chunks on the device, on how many streams',
};

const nameOf = ({ devices }: ProcessState, { id }: DeviceState): string =>
  devices.find((device) => device.id === id)?.name ?? '';

const cellsOf = (device: DeviceState, unit: string): string[] => [
  rateText(device.perSecond, unit),
  orNone(device.share, percent),
  orNone(device.fed, percent),
  orNone(device.chunkMs, (ms) => duration(ms / 1000)),
  device.queueDepth === undefined ? NONE : `${device.queueDepth} on ${device.activeStreams ?? 0}`,
  orNone(device.temperatureC, (celsius) => `${Math.round(celsius)} °C`),
  orNone(device.powerW, (watts) => `${Math.round(watts)} W`),
  orNone(device.memoryBytes, bytes),
  orNone(device.joules, energyText),
];
