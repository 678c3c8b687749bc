import { count, plural } from '../../../console/output/format.js';
import type { BufferData, FieldData, HitData } from '../messages.js';
import { targets } from '../messages.js';
import * as state from './state.js';

/** Operations by class, and the size of the text of each target. */
export function CountsPanel() {
  const counts = state.counts.value;
  if (!counts) return <p class="dim">no kernel</p>;
  const { classes, words, host } = counts;
  return (
    <div class="scroll">
      <table id="counts">
        <thead>
          <tr>
            <th scope="col">Operations</th>
            <th scope="col">each item</th>
            <th scope="col">under tests</th>
          </tr>
        </thead>
        <tbody>
          {classes.map(({ name, always, underTests }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{always}</td>
              <td>{underTests}</td>
            </tr>
          ))}
          <tr>
            <th scope="row">job words</th>
            <td>{words.jobAlways}</td>
            <td>{words.job - words.jobAlways}</td>
          </tr>
        </tbody>
      </table>
      <p>
        On the host: {host.job} operations a job, {host.chunk} a launch.
      </p>
      <table id="sizes">
        <thead>
          <tr>
            <th scope="col">Target</th>
            <th scope="col">lanes, threads</th>
            <th scope="col">statements</th>
            <th scope="col">characters</th>
          </tr>
        </thead>
        <tbody>
          {targets.map((target) => {
            const text = state.texts.value[target];
            return (
              <tr key={target}>
                <th scope="row">{target}</th>
                {text?.isRefused ? (
                  <td colSpan={3}>{text.text}</td>
                ) : (
                  <>
                    <td>{text?.lanes}</td>
                    <td>{text && count(text.statements)}</td>
                    <td>{text && count(text.text.length)}</td>
                  </>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface RunActions {
  run(isCompared: boolean): Promise<void>;
  stop(): void;
}

export function RunPanel({ run, stop }: RunActions) {
  const isRunning = state.isRunning.value;
  const absent = state.pageDevices.value?.absent ?? [];
  return (
    <div class="scroll">
      <div class="controls">
        <label>
          Device{' '}
          <select
            id="device"
            value={state.device.value}
            onChange={({ currentTarget }) => {
              state.device.value = currentTarget.value;
            }}
          >
            {state.devices.value.map(({ value, place, id, name }) => (
              <option key={value} value={value}>
                {place === 'page' ? 'this page' : 'server'}: {id} ({name})
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          id="run"
          class="primary"
          disabled={isRunning || !state.task.value}
          onClick={() => void run(false)}
        >
          Run
        </button>
        <button type="button" id="compare" disabled={isRunning || !state.task.value} onClick={() => void run(true)}>
          Run and compare with the interpreter
        </button>
        <button type="button" id="stop" disabled={!isRunning} onClick={stop}>
          Stop
        </button>
      </div>
      {absent.map(({ id, reason }) => (
        <p key={id} class="dim">
          {id} is absent: {reason}
        </p>
      ))}
      <div id="runs" aria-live="polite">
        {state.runs.value.map((row) => (
          <RunRow key={row.number} row={row} />
        ))}
      </div>
    </div>
  );
}

function RunRow({ row: { number, device, tried, result, failure, verdict } }: { readonly row: state.RunRow }) {
  return (
    <article
      class="run"
      data-device={device}
      data-number={number}
      data-state={failure ? 'failed' : result ? 'done' : 'running'}
    >
      <h2>{device}</h2>
      {failure && <p class="bad">{failure}</p>}
      {!failure && !result && <p>{count(tried)} indices tried</p>}
      {result && (
        <>
          <p>
            {count(result.tried)} indices in {result.seconds.toFixed(3)} s, {plural(result.hits.length, 'hit')}
            {result.cut === 'hits' && '; it ended there, since they are many'}
            {result.cut === 'stopped' && '; stopped'}
          </p>
          {verdict && <p class={verdict.startsWith('not') ? 'bad verdict' : 'good verdict'}>{verdict}</p>}
          {result.hits.length > 0 && <Hits hits={result.hits} />}
          {result.buffers.map((buffer) => (
            <Buffer key={buffer.name} buffer={buffer} />
          ))}
        </>
      )}
    </article>
  );
}

const MAX_ROWS = 100;
const MAX_VALUES = 256;

function Hits({ hits }: { readonly hits: readonly HitData[] }) {
  const names = Object.keys(hits[0]?.fields ?? {});
  return (
    <>
      <table class="hits">
        <thead>
          <tr>
            <th scope="col">index</th>
            {names.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {hits.slice(0, MAX_ROWS).map(({ index, fields }, at) => (
            <tr key={at}>
              <td>{String(index)}</td>
              {names.map((name) => (
                <td key={name}>{fieldText(fields[name])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {hits.length > MAX_ROWS && <p class="dim">and {count(hits.length - MAX_ROWS)} more</p>}
    </>
  );
}

/** Lists of words are digests more often than anything else. */
function fieldText(value: FieldData | undefined): string {
  if (typeof value !== 'object') return String(value);
  const isWords =
    value.length > 2 && value.every((one) => typeof one === 'number' && Number.isInteger(one) && one >= 0);
  return isWords ? value.map((one) => Number(one).toString(16).padStart(8, '0')).join('') : value.join(', ');
}

function Buffer({ buffer: { name, type, length, head } }: { readonly buffer: BufferData }) {
  return (
    <>
      <h3>
        {name}: {length} × {type}
      </h3>
      <pre class="values">
        {head.slice(0, MAX_VALUES).map(String).join(' ')}
        {length > MAX_VALUES && ' …'}
      </pre>
    </>
  );
}
