import type { CodeFault, CompilePart, DevicesData, RunData, RunProgress, StepsData, TaskData } from '../messages.js';
import { runFromWire, toWire } from '../wire.js';
import { firstDifference } from './compare.js';
import { keepDraft } from './draft.js';
import { Sandbox } from './sandbox.js';
import { encodeShare } from './share.js';
import * as state from './state.js';
import { withWatchdog } from './watchdog.js';
import { WorkerClient, WorkerFault } from './worker-client.js';

/** What the page does. Each text is evaluated in the sandbox; its kernel, as data, goes to the page's own workers. */

/** The folder of the app's files: that of the page's script. */
const files = new URL('.', import.meta.url);
const worker = new URL('playground-worker.js', files);
/** One compiles and steps, the other has the devices: a kernel that runs does not delay the texts of the next. */
const compiler = new WorkerClient(worker, 'millrace compiler');
const runner = new WorkerClient(worker, 'millrace runner');
let sandbox: Sandbox | undefined;

const COMPILE_MS = 30_000;
const STEPS_MS = 20_000;
const EDIT_MS = 250;

let timer: ReturnType<typeof setTimeout> | undefined;
let edit = 0;

/** The text has changed: it is evaluated when no further change follows at once. */
export function changed(text: string): void {
  state.source.value = text;
  if (state.isWaiting.value) return;
  edit++;
  state.phase.value = 'working';
  clearTimeout(timer);
  timer = setTimeout(() => void evaluate(), EDIT_MS);
}

/** Replaces the text and evaluates it, unless it waits for a click. */
export function opened(text: string, isWaiting = false): void {
  clearTimeout(timer);
  edit++;
  clear();
  state.source.value = text;
  state.isWaiting.value = isWaiting;
  if (isWaiting) state.phase.value = 'ready';
  else void evaluate();
}

/** The user has seen the code that came with the address, and wants it to run. */
export function trust(): void {
  state.isWaiting.value = false;
  void evaluate();
}

function clear(): void {
  state.fault.value = undefined;
  state.log.value = [];
  state.task.value = undefined;
  state.texts.value = {};
  state.passes.value = [];
  state.counts.value = undefined;
  state.runs.value = [];
  state.steps.value = undefined;
  state.step.value = 0;
}

async function evaluate(): Promise<void> {
  const own = edit;
  state.phase.value = 'working';
  try {
    sandbox ??= new Sandbox(files, document.body);
    const evaluation = await sandbox.evaluate(state.source.value);
    if (own !== edit) return;
    state.log.value = evaluation.log;
    if ('fault' in evaluation) {
      state.fault.value = evaluation.fault;
      state.phase.value = 'failed';
      return;
    }
    clear();
    keepDraft(state.source.value);
    state.log.value = evaluation.log;
    state.task.value = evaluation.task;
    await compile(evaluation.task, own);
    if (own === edit) state.phase.value = 'ready';
  } catch (error) {
    if (own !== edit) return;
    state.fault.value = error instanceof WorkerFault ? error.fault : { message: messageOf(error) };
    state.phase.value = 'failed';
  }
}

async function compile({ kernel }: TaskData, own: number): Promise<void> {
  // An older text may still be compiling.
  if (compiler.isBusy) compiler.end('a newer text has come');
  const tab = state.tab.value;
  const first = tab === 'ir' || tab === 'counts' || tab === 'run' || tab === 'steps' ? 'wgsl' : tab;
  const done = compiler.ask<null>({ ask: 'compile', kernel, first }, (part) => {
    if (own === edit) show(part as CompilePart);
  });
  await withWatchdog(done, COMPILE_MS, 'compiling', () => compiler.end('it took too long'));
}

function show(part: CompilePart): void {
  if ('counts' in part) state.counts.value = part.counts;
  else if ('passes' in part) state.passes.value = part.passes;
  else state.texts.value = { ...state.texts.value, [part.text.target]: part.text };
}

/** Lists the devices of the page, and those of the server if the page has one. */
export async function listDevices(hasServer: boolean): Promise<void> {
  const here = runner.ask<DevicesData>({ ask: 'devices' }).then((found) => {
    state.pageDevices.value = found;
  });
  const there = hasServer
    ? fetch('/api/playground/devices').then(async (response) => {
        if (response.ok) state.serverDevices.value = (await response.json()) as DevicesData;
      })
    : Promise.resolve();
  await Promise.allSettled([here, there]);
  const [first] = state.devices.value;
  if (state.device.value === '' && first) state.device.value = first.value;
}

let runNumber = 0;
let stopServer: AbortController | undefined;

/** Runs the kernel on the chosen device. `isCompared` runs it on the interpreter of the page too. */
export async function run(isCompared: boolean): Promise<void> {
  const { value: task } = state.task;
  const device = state.devices.value.find(({ value }) => value === state.device.value);
  if (!task || !device || state.isRunning.value) return;
  const number = ++runNumber;
  const update = (row: Partial<state.RunRow>): void => {
    state.runs.value = state.runs.value.map((one) => (one.number === number ? { ...one, ...row } : one));
  };
  state.isRunning.value = true;
  state.runs.value = [{ number, device: device.value, tried: 0n }, ...state.runs.value].slice(0, MAX_RUNS);
  try {
    const onProgress = ({ tried }: RunProgress): void => update({ tried });
    const isHere = device.place === 'page';
    const result = isHere ? await runHere(task, device.id, onProgress) : await runThere(task, device.id);
    update({ result, tried: result.tried });
    if (isCompared) update({ verdict: await verdictOn(result, task) });
  } catch (error) {
    update({ failure: error instanceof WorkerFault ? placed(error) : messageOf(error) });
  } finally {
    state.isRunning.value = false;
  }
}

const MAX_RUNS = 10;

const placed = ({ fault: { message, row } }: WorkerFault): string =>
  row === undefined ? message : `line ${row}: ${message}`;

function runHere(
  task: TaskData,
  device: string,
  onProgress: (part: RunProgress) => void,
  limitMs?: number,
): Promise<RunData> {
  const request = { ask: 'run', task, device, ...(limitMs !== undefined && { limitMs }) } as const;
  return runner.ask<RunData>(request, (part) => onProgress(part as RunProgress));
}

/** The server gets the kernel as data, never the code. */
async function runThere(task: TaskData, device: string): Promise<RunData> {
  stopServer = new AbortController();
  const response = await fetch('/api/playground/run', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device, task: toWire(task) }),
    signal: stopServer.signal,
  });
  const body: unknown = await response.json();
  if (response.ok) return runFromWire(body);
  const { message = `the server answered ${response.status}`, ...place } = body as Partial<CodeFault>;
  throw new WorkerFault({ message, ...place });
}

/** Compares with the interpreter, as many indices as it can do in a moment. */
async function verdictOn(result: RunData, task: TaskData): Promise<string> {
  const wanted = await runHere({ ...task, length: result.tried }, 'interpreter', () => undefined, COMPARE_MS);
  const end = task.start + wanted.tried;
  const same = { ...result, hits: result.hits.filter(({ index }) => index < end) };
  const isExact = !result.device.startsWith('webgpu');
  const difference = firstDifference(same, wanted, isExact ? 0 : 1e-5);
  if (difference !== undefined) return `not as the interpreter: ${difference}`;
  const part = wanted.tried === result.tried ? '' : ` for the first ${wanted.tried} indices`;
  return `the interpreter gives the same${part}`;
}

const COMPARE_MS = 2000;

/** A kernel that runs in the page ends with its worker, which the next run starts again. */
export function stop(): void {
  stopServer?.abort(new Error('stopped'));
  if (runner.isBusy) runner.end('stopped');
}

/** Runs one index on the interpreter, statement by statement. */
export async function loadSteps(): Promise<void> {
  const { value: task } = state.task;
  if (!task) return;
  try {
    const index = BigInt(state.stepIndex.value.trim());
    const asked = compiler.ask<StepsData>({ ask: 'steps', task, index });
    state.steps.value = await withWatchdog(asked, STEPS_MS, 'the index', () => compiler.end('it took too long'));
    state.step.value = 0;
    state.notice.value = '';
  } catch (error) {
    state.notice.value = error instanceof SyntaxError ? 'an index is a whole number' : messageOf(error);
  }
}

/** Puts the code into the address, and the address on the clipboard where that is permitted. */
export async function share(): Promise<void> {
  const url = new URL(location.href);
  url.hash = await encodeShare(state.source.value);
  history.replaceState(null, '', url);
  const copied = await navigator.clipboard?.writeText(url.href).then(
    () => true,
    () => false,
  );
  state.notice.value = copied ? 'the link is on the clipboard' : 'the link is in the address bar';
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
