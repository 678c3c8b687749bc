import { effect } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { startSession } from '../../page/session.js';
import { targets } from '../messages.js';
import { changed, listDevices, loadSteps, opened, run, share, stop, trust } from './actions.js';
import type { CompletionData } from './completion.js';
import { draft } from './draft.js';
import { createEditor, createReader, showFault, type TextView } from './editor.js';
import { CountsPanel, RunPanel } from './panels.js';
import { decodeShare } from './share.js';
import * as state from './state.js';
import { type Tab, tabs } from './state.js';

/** The playground's page. */
const files = new URL('.', import.meta.url);

interface Example {
  readonly name: string;
  readonly title: string;
  readonly code: string;
}

/** The address of the dashboard, if the same server has one. */
const { dashboard } = document.documentElement.dataset;

const load = async <T,>(name: string): Promise<T> => (await fetch(new URL(name, files))).json() as Promise<T>;

let completion: Promise<CompletionData> | undefined;
const loadCompletion = (): Promise<CompletionData> => {
  completion ??= load<CompletionData>('completion.json');
  return completion;
};

function App({ examples }: { readonly examples: readonly Example[] }) {
  return (
    <>
      <header class="bar">
        <h1>Millrace playground</h1>
        {dashboard !== undefined && <a href={dashboard}>Dashboard</a>}
        <label>
          Example{' '}
          <select
            id="example"
            onChange={({ currentTarget }) => {
              const found = examples.find(({ name }) => name === currentTarget.value);
              if (found) opened(found.code);
            }}
          >
            <option value="">–</option>
            {examples.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <button type="button" id="share" onClick={() => void share()}>
          Share
        </button>
        <span id="status" role="status">
          {state.notice.value || phaseText()}
        </span>
      </header>
      <main>
        <section aria-label="Code" class="side">
          {state.isWaiting.value && (
            <div id="waiting" role="alert" class="notice">
              This code came with the link. It has not run.{' '}
              <button type="button" id="trust" class="primary" onClick={trust}>
                Run this code
              </button>
            </div>
          )}
          <Editor />
          {state.fault.value && (
            <p id="fault" role="alert" class="bad">
              {state.fault.value.row !== undefined && `line ${state.fault.value.row}: `}
              {state.fault.value.message}
            </p>
          )}
          {state.log.value.length > 0 && (
            <pre id="log" role="log" aria-label="Console">
              {state.log.value.join('\n')}
            </pre>
          )}
        </section>
        <section aria-label="Result" class="side">
          <Tabs />
          <Panel />
        </section>
      </main>
    </>
  );
}

function phaseText(): string {
  if (state.isWaiting.value) return 'waiting for a click';
  if (state.phase.value === 'failed' && state.counts.value) return 'failed: the result is that of the text before';
  if (state.phase.value !== 'ready') return state.phase.value;
  return state.counts.value ? `${state.counts.value.name} is compiled for every target` : 'ready';
}

let editor: TextView | undefined;

function Editor() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current || editor) return;
    const own = createEditor(host.current, {
      text: state.source.value,
      completion: loadCompletion,
      onChange: (text) => {
        if (text !== state.source.value) changed(text);
      },
      onRow: (row) => {
        state.row.value = row;
      },
    });
    editor = own;
    effect(() => own.set(state.source.value));
    effect(() => showFault(own, state.fault.value));
    effect(() => {
      const current = state.tab.value === 'steps' ? state.steps.value?.steps[state.step.value] : undefined;
      own.mark(new Set(current ? [current.row] : []), true);
    });
  }, []);
  return <div id="editor" ref={host} class="text" />;
}

const labels: Readonly<Record<Tab, string>> = {
  ir: 'IR',
  cuda: 'CUDA',
  opencl: 'OpenCL',
  wgsl: 'WGSL',
  c: 'C',
  wat: 'WAT',
  counts: 'Counts',
  run: 'Run',
  steps: 'Steps',
};

function Tabs() {
  const select = (tab: Tab): void => {
    state.tab.value = tab;
    document.getElementById(`tab-${tab}`)?.focus();
  };
  const onKeyDown = ({ key }: KeyboardEvent): void => {
    const at = tabs.indexOf(state.tab.value);
    const move = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    const next = tabs[(at + move + tabs.length) % tabs.length];
    if (move !== 0 && next) select(next);
  };
  return (
    <div role="tablist" aria-label="What the kernel becomes" onKeyDown={onKeyDown}>
      {tabs.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-selected={state.tab.value === name}
          aria-controls="panel"
          tabIndex={state.tab.value === name ? 0 : -1}
          onClick={() => select(name)}
        >
          {labels[name]}
        </button>
      ))}
    </div>
  );
}

function Panel() {
  const tab = state.tab.value;
  return (
    <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
      {tab === 'counts' ? (
        <CountsPanel />
      ) : tab === 'run' ? (
        <RunPanel run={run} stop={stop} />
      ) : (
        <>
          {tab === 'ir' && <PassChoice />}
          {tab === 'steps' && <StepControls />}
          <Reader key="reader" />
        </>
      )}
    </div>
  );
}

function PassChoice() {
  const passes = state.passes.value;
  const chosen = passes.find(({ pass }) => pass === state.pass.value);
  return (
    <div class="controls">
      <label>
        After{' '}
        <select
          id="pass"
          value={state.pass.value}
          onChange={({ currentTarget }) => {
            state.pass.value = currentTarget.value;
          }}
        >
          {passes.map(({ pass }) => (
            <option key={pass} value={pass}>
              {pass}
            </option>
          ))}
        </select>
      </label>
      <span class="dim">{chosen?.does}</span>
    </div>
  );
}

function StepControls() {
  const count = state.steps.value?.steps.length ?? 0;
  const move = (by: number): void => {
    state.step.value = Math.max(0, Math.min(count - 1, state.step.value + by));
  };
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        void loadSteps();
      }}
    >
      <label>
        Index{' '}
        <input
          id="step-index"
          inputMode="numeric"
          size={12}
          value={state.stepIndex.value}
          onInput={({ currentTarget }) => {
            state.stepIndex.value = currentTarget.value;
          }}
        />
      </label>
      <button type="submit" id="step-load" disabled={!state.task.value}>
        Run one index
      </button>
      <button type="button" id="step-back" disabled={state.step.value === 0} onClick={() => move(-1)}>
        Back
      </button>
      <button type="button" id="step-next" disabled={state.step.value + 1 >= count} onClick={() => move(1)}>
        Next
      </button>
      <span id="step-at" class="dim">
        {count > 0 && `step ${state.step.value + 1} of ${count}${state.steps.value?.isCut ? ', then more' : ''}`}
        {state.steps.value?.fault && ` ${state.steps.value.fault.message}`}
      </span>
    </form>
  );
}

/** The text of the chosen tab: its lines, and the row of the code that each was made of. */
function currentText(): { readonly text: string; readonly rows: readonly number[] } {
  const tab = state.tab.value;
  if (tab === 'ir')
    return { text: state.passes.value.find(({ pass }) => pass === state.pass.value)?.text ?? '', rows: [] };
  if (tab === 'steps') {
    const steps = state.steps.value?.steps ?? [];
    const lines = steps.map(
      ({ row, depth, what, value }) => `${String(row).padStart(4)}  ${'  '.repeat(depth)}${what} ${value}`,
    );
    return { text: lines.join('\n'), rows: steps.map(({ row }) => row) };
  }
  const target = targets.find((one) => one === tab);
  const found = target && state.texts.value[target];
  return found ? { text: found.text, rows: found.rows } : { text: '', rows: [] };
}

function Reader() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const reader = createReader(host.current, 'the generated text', (line) => {
      const { rows } = currentText();
      if (state.tab.value === 'steps') state.step.value = line - 1;
      else editor?.mark(new Set([rows[line - 1] ?? 0]), true);
    });
    const ends = [
      effect(() => reader.set(currentText().text)),
      effect(() => {
        const { rows } = currentText();
        const own = rows.flatMap((row, line) => (row === state.row.value ? line + 1 : []));
        reader.mark(new Set(state.tab.value === 'steps' ? [state.step.value + 1] : own), true);
      }),
    ];
    return () => {
      for (const end of ends) end();
      reader.view.destroy();
    };
  }, []);
  return <div id="text" ref={host} class="text" />;
}

async function start(): Promise<void> {
  const root = document.getElementById('app');
  if (!root) return;
  const hasServer = document.documentElement.dataset.server !== undefined;
  const code = await decodeShare(location.hash).catch((error: unknown) => {
    state.notice.value = error instanceof Error ? error.message : String(error);
    return undefined;
  });
  if (hasServer) await startSession().catch(() => false);
  const examples = await load<readonly Example[]>('examples.json');
  const [first] = examples;
  const named = exampleIn(examples);
  opened(code ?? named?.code ?? draft() ?? first?.code ?? '', code !== undefined);
  render(<App examples={examples} />, root);
  await listDevices(hasServer);
}

/** The example that the address names: `#example=block`. Examples are our own code, so that they need no click. */
function exampleIn(examples: readonly Example[]): Example | undefined {
  const [, name] = /^#example=(\w+)$/.exec(location.hash) ?? [];
  return examples.find((one) => one.name === name);
}

addEventListener('hashchange', () => {
  void decodeShare(location.hash)
    .then((code) => code !== undefined && code !== state.source.value && opened(code, true))
    .catch(() => undefined);
});

void start();
