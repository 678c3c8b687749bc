import { phasesOf, type Span } from './overlap.js';
import type { ChunkRecord } from './record.js';
import { deviceCounters, sensorCounters } from './trace-counters.js';
import { type TraceTrack, TraceTracks } from './tracks.js';

/** The input of a trace. */
export interface TraceInput {
  readonly records: Iterable<Readonly<ChunkRecord>>;
  /** In display order. */
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  readonly samples: readonly SensorSample[];
  /** Time 0 of the trace. Earlier times are shown as 0. */
  readonly originNs: bigint;
}

/** A device's sensor readings at a moment. */
export interface SensorSample {
  readonly device: string;
  readonly atNs: bigint;
  readonly temperatureC: number | undefined;
  readonly powerW: number | undefined;
}

/** An event of the Trace Event Format, which Perfetto and Chrome open. Times in microseconds. */
export interface TraceEvent {
  readonly ph: 'M' | 'X' | 's' | 't' | 'f' | 'C';
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly ts?: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  readonly bp?: 'e';
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Process id of the host. Devices follow. */
const HOST = 1;
/** Thread ids of a stream begin at multiples of this: first the stream's own tracks, then those of its slots. */
const STREAM_TIDS = 10_000;
const SLOT_TIDS = 100;

/**
 * Yields the trace of chunks. The host's tracks show what the engine did with each chunk (submit, reap, verify,
 * commit). A device has a track per stream with what ran there, and one per slot with the whole life of each chunk.
 * Arrows connect the steps. Work on a device never starts before the driver got it, even if the two clocks disagree.
 */
export function* traceEvents({ records, devices, samples, originNs }: TraceInput): Generator<TraceEvent> {
  const chunks = [...records].filter(({ submittedNs }) => submittedNs > 0n);
  const clock = new EventBuilder(originNs);
  const host = {
    submit: new TraceTracks(HOST, 1, 'submit'),
    reap: new TraceTracks(HOST, 1001, 'reap'),
    verify: new TraceTracks(HOST, 2001, 'verify'),
    commit: new TraceTracks(HOST, 3001, 'commit'),
  };
  yield* processMetadata(HOST, 'millrace');
  const known = new Map(devices.map(({ id }, at) => [id, HOST + 1 + at]));
  for (const { id, name } of devices) {
    const pid = known.get(id) ?? 0;
    yield* processMetadata(pid, `${id} ${name}`);
  }
  const streams = new Map<string, TraceTracks>();
  const placed = chunks.map((record) => ({ record, times: timesOf(record), tracks: new Map<TraceStep, TraceTrack>() }));
  // Tracks are assigned in the order of starts, which differs per step.
  for (const step of ['slot', 'submit', 'device', 'reap', 'verify', 'commit'] as const) {
    const from = ({ times }: TracedChunk): bigint => times[step]?.startedNs ?? 0n;
    for (const chunk of [...placed].sort((a, b) => compare(from(a), from(b)))) {
      const span = chunk.times[step];
      if (!span) continue;
      const tracks = step === 'slot' || step === 'device' ? tracksOf(chunk.record, step) : host[step];
      chunk.tracks.set(step, tracks.take(span.startedNs, span.endedNs));
    }
  }
  for (const chunk of placed) yield* chunkEvents(chunk, clock);
  for (const tracks of [...Object.values(host), ...streams.values()]) {
    for (const track of tracks.names()) yield* threadMetadata(track);
  }
  for (const { id } of devices) {
    const pid = known.get(id) ?? 0;
    const own = placed.filter(({ record }) => record.device === id);
    yield* deviceCounters(own, (name, ns, value) => clock.counter(pid, name, ns, value));
    const readings = samples.filter(({ device }) => device === id);
    yield* sensorCounters(readings, (name, ns, value) => clock.counter(pid, name, ns, value));
  }

  /** Returns the tracks of a stream or of one of its slots. */
  function tracksOf({ device, stream, slot }: ChunkRecord, step: 'slot' | 'device'): TraceTracks {
    const name = step === 'slot' ? `stream ${stream} slot ${slot}` : `stream ${stream}`;
    const tid = 1 + stream * STREAM_TIDS + (step === 'slot' ? SLOT_TIDS * (slot + 1) : 0);
    const key = `${device} ${name}`;
    const tracks = streams.get(key) ?? new TraceTracks(known.get(device) ?? 0, tid, name);
    streams.set(key, tracks);
    return tracks;
  }
}

/** `slot` is the whole time in the slot, until the results are read. */
type TraceStep = 'slot' | 'submit' | 'device' | 'reap' | 'verify' | 'commit';

/** A chunk with the steps it reached, in order of time. */
export interface TracedChunk {
  readonly record: Readonly<ChunkRecord>;
  readonly times: Readonly<Partial<Record<TraceStep, Span>>>;
  readonly tracks: ReadonlyMap<TraceStep, TraceTrack>;
}

/** Returns the steps of a chunk. Each starts no earlier than the end of the one before. */
function timesOf(record: Readonly<ChunkRecord>): TracedChunk['times'] {
  const { enqueuedNs, submittedNs, launchedNs, startedNs, endedNs, noticedNs, reapedNs, verifiedNs, committedNs } =
    record;
  const times: Partial<Record<TraceStep, Span>> = { submit: span(enqueuedNs, submittedNs) };
  if (endedNs === 0n) return times;
  times.device = span(latest(enqueuedNs, launchedNs, startedNs), endedNs);
  const noticed = latest(times.device.endedNs, noticedNs);
  times.slot = span(enqueuedNs, latest(noticed, reapedNs));
  if (reapedNs === 0n) return times;
  times.reap = span(noticed, reapedNs);
  if (verifiedNs === 0n) return times;
  times.verify = span(times.reap.endedNs, verifiedNs);
  if (committedNs > 0n) times.commit = span(times.verify.endedNs, committedNs);
  return times;
}

/** At least 1 ns long: arrows attach inside slices, and an empty slice has no inside. */
const span = (startedNs: bigint, endedNs: bigint): Span => ({ startedNs, endedNs: latest(startedNs + 1n, endedNs) });

function* chunkEvents(chunk: TracedChunk, clock: EventBuilder): Generator<TraceEvent> {
  const { record, times, tracks } = chunk;
  const { sequence, job, start, count, outcome = 'unknown' } = record;
  const name = `${job} ${sequence}`;
  yield* slotEvents(chunk, name, clock);
  const { submit, device, reap, verify, commit } = times;
  const at = (step: TraceStep): TraceTrack => tracks.get(step) ?? NO_TRACK;
  if (submit) {
    const { policy, meant, waitRounds, active, busy } = record;
    const args = { start: String(start), count, policy, meant, waitRounds, active, busy };
    yield clock.slice(at('submit'), name, submit, args);
  }
  if (device) {
    const { bytesToDevice, bytesToHost, occupancy } = record;
    const args = { start: String(start), count, outcome, bytesToDevice, bytesToHost, occupancy };
    yield clock.slice(at('device'), name, device, args);
    yield* phaseEvents(record, at('device'), device, clock);
  }
  const { blockingWaits, blockedNs } = record;
  if (reap) yield clock.slice(at('reap'), name, reap, { blockingWaits, blockedNs });
  if (verify) yield clock.slice(at('verify'), name, verify, { outcome });
  if (commit) yield clock.slice(at('commit'), name, commit, { counted: record.counted });
  const steps = (['submit', 'device', 'reap', 'verify', 'commit'] as const).filter((step) => times[step]);
  if (steps.length < 2) return;
  for (const [k, step] of steps.entries()) {
    const ns = times[step]?.startedNs ?? 0n;
    yield clock.flow(at(step), k === 0 ? 's' : k === steps.length - 1 ? 'f' : 't', sequence + 1, ns);
  }
}

const NO_TRACK: TraceTrack = { pid: 0, tid: 0 };

/** Yields the phases of a chunk in its slot. */
function* slotEvents({ record, times, tracks }: TracedChunk, name: string, clock: EventBuilder): Generator<TraceEvent> {
  const { slot, device } = times;
  const track = tracks.get('slot');
  if (!slot || !device || !track) return;
  yield clock.slice(track, name, slot, { outcome: record.outcome });
  const launched = latest(slot.startedNs, record.launchedNs);
  const noticed = latest(device.endedNs, record.noticedNs);
  const steps: [string, bigint, bigint][] = [
    ['queued', slot.startedNs, launched],
    ['waits', launched, device.startedNs],
    ['runs', device.startedNs, device.endedNs],
    ['unseen', device.endedNs, noticed],
    ['reap', noticed, slot.endedNs],
  ];
  for (const [step, startedNs, endedNs] of steps) {
    if (endedNs > startedNs) yield clock.slice(track, step, { startedNs, endedNs });
  }
}

function* phaseEvents(
  record: ChunkRecord,
  track: TraceTrack,
  within: Span,
  clock: EventBuilder,
): Generator<TraceEvent> {
  const phases = phasesOf(record);
  if (!phases) return;
  const inside = ({ startedNs, endedNs }: Span): Span => ({
    startedNs: latest(startedNs, within.startedNs),
    endedNs: endedNs < within.endedNs ? endedNs : within.endedNs,
  });
  const spans = [
    ...phases.copies.map((span) => ['copy', inside(span)] as const),
    ['kernel', inside(phases.compute)] as const,
  ];
  for (const [name, span] of spans.sort(([, a], [, b]) => compare(a.startedNs, b.startedNs))) {
    if (span.endedNs > span.startedNs) yield clock.slice(track, name, span);
  }
}

/** Converts times to microseconds since the trace's origin, with nanosecond precision. */
class EventBuilder {
  readonly #originNs: bigint;

  constructor(originNs: bigint) {
    this.#originNs = originNs;
  }

  slice(track: TraceTrack, name: string, { startedNs, endedNs }: Span, args?: TraceEvent['args']): TraceEvent {
    const dur = Number(endedNs - startedNs) / 1000;
    return { ph: 'X', name, cat: 'chunk', ...track, ts: this.#us(startedNs), dur, ...(args && { args }) };
  }

  flow(track: TraceTrack, ph: 's' | 't' | 'f', id: number, ns: bigint): TraceEvent {
    return { ph, name: 'chunk', cat: 'chunk', ...pidTid(track), id, ts: this.#us(ns), ...(ph !== 's' && { bp: 'e' }) };
  }

  counter(pid: number, name: string, ns: bigint, value: number): TraceEvent {
    return { ph: 'C', name, pid, ts: this.#us(ns), args: { value } };
  }

  #us(ns: bigint): number {
    return ns <= this.#originNs ? 0 : Number(ns - this.#originNs) / 1000;
  }
}

const pidTid = ({ pid, tid }: TraceTrack): TraceTrack => ({ pid, tid });

function* processMetadata(pid: number, name: string): Generator<TraceEvent> {
  yield { ph: 'M', name: 'process_name', pid, args: { name } };
  yield { ph: 'M', name: 'process_sort_index', pid, args: { sort_index: pid } };
}

function* threadMetadata({ pid, tid, name }: TraceTrack & { readonly name: string }): Generator<TraceEvent> {
  yield { ph: 'M', name: 'thread_name', pid, tid, args: { name } };
  yield { ph: 'M', name: 'thread_sort_index', pid, tid, args: { sort_index: tid } };
}

const latest = (...moments: readonly bigint[]): bigint => moments.reduce((last, ns) => (ns > last ? ns : last), 0n);
const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);
