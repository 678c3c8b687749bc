import { paramsText } from '../../console/ledger/params-text.js';
import type { FleetOverview } from '../../fleet/view/rows.js';
import type {
  ChunkState,
  CoverageState,
  DeviceState,
  Message,
  ProcessState,
  Progress,
  RateSample,
  RateWindows,
} from './state.js';

/** An event of a process, as it was read. */
export type EventData = Readonly<Record<string, unknown>> & { readonly event: string };

/** Everything that is known of a process. */
export interface ProcessModel {
  readonly state: ProcessState;
  readonly coverage: CoverageState | undefined;
  readonly samples: readonly RateSample[];
  readonly chunks: readonly ChunkState[];
  readonly hasChunks: boolean;
  /** The fleet that the process coordinates. */
  readonly fleet?: FleetOverview;
  /** The text of the kernel's file, if it is known. */
  readonly code: string | undefined;
}

export function newProcess(pid: number): ProcessModel {
  const state: ProcessState = {
    ...{
      key: `p${pid}`,
      pid,
      command: '',
      version: '',
      startedMs: undefined,
      name: '',
      unit: '',
      args: [],
      folder: '',
    },
    ...{ params: '', jobId: undefined, priority: undefined, canPrioritize: false, devices: [] },
    ...{ progress: undefined, messages: [], notes: [], hasCode: false, exit: undefined },
  };
  return { state, coverage: undefined, samples: [], chunks: [], hasChunks: false, code: undefined };
}

/** Returns the model after an event. Unknown events change nothing. */
export function reduce(model: ProcessModel, event: EventData, nowMs: number): ProcessModel {
  const { state } = model;
  const update = (fields: Partial<ProcessState>): ProcessModel => ({ ...model, state: { ...state, ...fields } });
  switch (event.event) {
    case 'start': {
      const { command, version, pid, time } = event as unknown as StartEvent;
      return update({ command, version, pid, startedMs: Date.parse(time) });
    }
    case 'task': {
      const { name, unit, args, folder, params = {}, canPrioritize, code } = event as unknown as TaskEvent;
      const hasCode = code !== undefined;
      return { ...update({ name, unit, args, folder, params: paramsText(params), canPrioritize, hasCode }), code };
    }
    case 'job': {
      const { id, priority } = event as unknown as { id: string; priority?: number };
      return update({ jobId: id, key: id, priority });
    }
    case 'device': {
      const { id, name } = event as unknown as { id: string; name: string };
      return update({ devices: [...state.devices.filter((device) => device.id !== id), { id, name }] });
    }
    case 'progress': {
      const { event: _, ...progress } = event as unknown as Progress & { event: string };
      return { ...update({ progress }), samples: addSample(model.samples, progress, nowMs) };
    }
    case 'coverage': {
      const { event: _, ...coverage } = event as unknown as CoverageState & { event: string };
      return { ...model, coverage };
    }
    case 'fleet': {
      const { event: _, ...fleet } = event as unknown as FleetOverview & { event: string };
      return { ...model, fleet };
    }
    case 'notes':
      return update({ notes: event.notes as ProcessState['notes'] });
    case 'chunks':
      return { ...model, chunks: addChunks(model.chunks, event, nowMs), hasChunks: true };
    case 'warning':
    case 'error':
    case 'lost':
      return update({ messages: addMessage(state.messages, messageOf(event, nowMs)) });
    case 'done':
      return update({ exit: Number(event.exit) });
    default:
      return model;
  }
}

interface TaskEvent extends Omit<ProcessState, 'params'> {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly code?: string;
}

interface StartEvent {
  readonly command: string;
  readonly version: string;
  readonly pid: number;
  readonly time: string;
}

const MAX_MESSAGES = 20;
/** Samples of a chart: if there are more, every second one is dropped, so that any length of time fits. */
const MAX_SAMPLES = 1800;
/** Time that the timeline of chunks covers. */
const CHUNKS_MS = 30_000;
const MAX_CHUNKS = 4000;

function messageOf({ event, message, device }: EventData, atMs: number): Message {
  const text = event === 'lost' ? `${String(device)} is no longer used: ${String(message)}` : String(message);
  return { kind: event as Message['kind'], text, atMs };
}

/** The same text is there once: a lost device is told by a warning too. */
const addMessage = (before: readonly Message[], added: Message): readonly Message[] =>
  [...before.filter(({ text }) => text !== added.text), added].slice(-MAX_MESSAGES);

function addSample(samples: readonly RateSample[], progress: Progress, atMs: number): readonly RateSample[] {
  // Paused time is a gap, not a slow rate.
  const rates = Object.fromEntries([
    ['', windowsOf(progress.perSecond, progress.rates)],
    ...progress.devices.map((device: DeviceState) => [device.id, windowsOf(device.perSecond, device.rates)]),
  ]);
  const all = [...samples, { atMs, rates }];
  return all.length <= MAX_SAMPLES ? all : all.filter((_, at) => at % 2 === 0);
}

/** In the first 10 s the rate since the start stands for that over 10 s. */
const windowsOf = (perSecond: number | undefined, rates: RateWindows = {}): (number | null)[] => [
  rates.tenSeconds ?? perSecond ?? null,
  rates.minute ?? null,
  rates.quarterHour ?? null,
];

function addChunks(before: readonly ChunkState[], event: EventData, nowMs: number): readonly ChunkState[] {
  const added = (event.chunks as readonly EventChunk[]).map(({ startedAgo, endedAgo, ...rest }) => ({
    ...rest,
    startedMs: nowMs - startedAgo * 1000,
    endedMs: nowMs - endedAgo * 1000,
  }));
  return [...before, ...added].filter(({ endedMs }) => endedMs > nowMs - CHUNKS_MS).slice(-MAX_CHUNKS);
}

interface EventChunk extends Omit<ChunkState, 'startedMs' | 'endedMs'> {
  readonly startedAgo: number;
  readonly endedAgo: number;
}
