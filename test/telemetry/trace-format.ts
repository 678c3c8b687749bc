import type { TraceEvent } from '../../src/engine/telemetry/trace.js';

/**
 * Checks what Perfetto and Chrome require of the Trace Event Format (its JSON object form), and more: every track has a
 * name, slices of a track are nested or disjoint, flows start and end inside slices, in order of time. Throws
 * all faults.
 */
export function checkTrace(text: string): {
  readonly events: readonly TraceEvent[];
  readonly about: Record<string, unknown>;
} {
  const file = JSON.parse(text) as Record<string, unknown>;
  const faults: string[] = [];
  const must = (isRight: boolean, what: string): void => {
    if (!isRight) faults.push(what);
  };
  const own = new Set(['traceEvents', 'displayTimeUnit', 'otherData']);
  for (const key of Object.keys(file)) must(own.has(key), `the file has "${key}"`);
  must(file.displayTimeUnit === 'ms' || file.displayTimeUnit === 'ns', 'displayTimeUnit is ms or ns');
  must(Array.isArray(file.traceEvents), 'traceEvents is a list');
  const events = file.traceEvents as TraceEvent[];
  for (const [at, event] of events.entries())
    checkEvent(event, (isRight, what) => must(isRight, `event ${at}: ${what}`));
  checkNames(events, must);
  checkNesting(events, must);
  checkFlows(events, must);
  if (faults.length > 0) throw new Error(`${faults.length} faults:\n${faults.slice(0, 20).join('\n')}`);
  return { events, about: file.otherData as Record<string, unknown> };
}

type Must = (isRight: boolean, what: string) => void;

const isWhole = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isTime = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const FIELDS: Readonly<Record<TraceEvent['ph'], readonly string[]>> = {
  M: ['ph', 'name', 'pid', 'tid', 'args'],
  X: ['ph', 'name', 'cat', 'pid', 'tid', 'ts', 'dur', 'args'],
  s: ['ph', 'name', 'cat', 'pid', 'tid', 'ts', 'id'],
  t: ['ph', 'name', 'cat', 'pid', 'tid', 'ts', 'id', 'bp'],
  f: ['ph', 'name', 'cat', 'pid', 'tid', 'ts', 'id', 'bp'],
  C: ['ph', 'name', 'pid', 'ts', 'args'],
};

function checkEvent(event: TraceEvent, must: Must): void {
  const fields = FIELDS[event.ph];
  must(fields !== undefined, `phase ${event.ph}`);
  for (const key of Object.keys(event)) must(fields?.includes(key) ?? false, `${event.ph} has "${key}"`);
  must(typeof event.name === 'string' && event.name !== '', 'a name');
  must(isWhole(event.pid), 'a pid');
  if (event.ph === 'M') {
    const { name, args = {}, tid } = event;
    must(/^(process|thread)_(name|sort_index)$/.test(name), `metadata ${name}`);
    must(name.startsWith('process') === (tid === undefined), 'a tid where it is about a thread');
    const value = name.endsWith('_name') ? args.name : args.sort_index;
    must(typeof value === (name.endsWith('_name') ? 'string' : 'number'), `a value for ${name}`);
    return;
  }
  must(isTime(event.ts), `ts ${event.ts}`);
  if (event.ph === 'C') {
    const values = Object.values(event.args ?? {});
    must(values.length > 0 && values.every((value) => Number.isFinite(value)), `values of counter ${event.name}`);
    return;
  }
  must(isWhole(event.tid), 'a tid');
  if (event.ph === 'X') must(isTime(event.dur), `dur ${event.dur}`);
  else must(isWhole(event.id) && event.cat !== undefined, 'an id and a category');
}

const trackOf = ({ pid, tid }: TraceEvent): string => `${pid}/${tid}`;

function checkNames(events: readonly TraceEvent[], must: Must): void {
  const named = (what: string) => events.filter(({ ph, name }) => ph === 'M' && name === what);
  const processes = new Set(named('process_name').map(({ pid }) => pid));
  const tracks = named('thread_name').map(trackOf);
  const threads = new Set(tracks);
  must(threads.size === tracks.length, 'each track has one name');
  for (const event of events) {
    if (event.ph === 'M') continue;
    must(processes.has(event.pid), `process ${event.pid} has a name`);
    if (event.tid !== undefined) must(threads.has(trackOf(event)), `track ${trackOf(event)} has a name`);
  }
}

/** In nanoseconds, so that sums are exact. */
const ns = (us = 0): number => Math.round(us * 1000);

function checkNesting(events: readonly TraceEvent[], must: Must): void {
  for (const slices of byTrack(slicesOf(events)).values()) {
    const open: number[] = [];
    const sorted = slices.sort((a, b) => ns(a.ts) - ns(b.ts) || ns(b.dur) - ns(a.dur));
    for (const { name, ts, dur, pid, tid } of sorted) {
      const [from, to] = [ns(ts), ns(ts) + ns(dur)];
      while (open.length > 0 && (open.at(-1) ?? 0) <= from) open.pop();
      const around = open.at(-1);
      must(
        around === undefined || to <= around,
        `"${name}" at ${ts} on ${pid}/${tid} crosses the end of another slice`,
      );
      open.push(to);
    }
  }
}

const slicesOf = (events: readonly TraceEvent[]): TraceEvent[] => events.filter(({ ph }) => ph === 'X');

function byTrack(events: readonly TraceEvent[]): Map<string, TraceEvent[]> {
  const groups = new Map<string, TraceEvent[]>();
  for (const event of events) {
    const group = groups.get(trackOf(event)) ?? [];
    group.push(event);
    groups.set(trackOf(event), group);
  }
  return groups;
}

function checkFlows(events: readonly TraceEvent[], must: Must): void {
  const slices = new Map<string, Set<number>>();
  for (const slice of slicesOf(events)) {
    const starts = slices.get(trackOf(slice)) ?? new Set<number>();
    if (ns(slice.dur) > 0) starts.add(ns(slice.ts));
    slices.set(trackOf(slice), starts);
  }
  const flows = new Map<number, TraceEvent[]>();
  for (const event of events) {
    if (event.ph !== 's' && event.ph !== 't' && event.ph !== 'f') continue;
    flows.set(event.id ?? -1, [...(flows.get(event.id ?? -1) ?? []), event]);
  }
  for (const [id, steps] of flows) {
    const phases = steps.map(({ ph }) => ph).join('');
    must(/^st*f$/.test(phases), `flow ${id} is ${phases}, not one s, some t, one f`);
    for (const [at, step] of steps.entries()) {
      must(at === 0 || ns(step.ts) >= ns(steps[at - 1]?.ts), `flow ${id} goes back in time`);
      // Our flows are bound to the starts of slices.
      must(slices.get(trackOf(step))?.has(ns(step.ts)) ?? false, `flow ${id} begins and ends in slices`);
    }
  }
}
