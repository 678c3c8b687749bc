import { computed, signal } from '@preact/signals';
import type { ChunkState, CoverageState, DashboardState, RateSample } from '../live/state.js';
import { connection, follow } from './connection.js';
import { clearFleet, fleetHandlers, fleetQuery } from './fleet/model.js';

/** What the server has sent. */
export const state = signal<DashboardState | undefined>(undefined);
export const coverage = signal<CoverageState | undefined>(undefined);
export const samples = signal<readonly RateSample[]>([]);
export const chunks = signal<readonly ChunkState[]>([]);
export const hasChunks = signal(false);

/** The job that the page shows; undefined for the overview. */
export const shownKey = signal<string | undefined>(undefined);
export const shownProcess = computed(() => state.value?.processes.find(({ key }) => key === shownKey.value));

const MAX_SAMPLES = 4000;
const MAX_CHUNKS = 4000;
const CHUNKS_MS = 30_000;

let unfollow: (() => void) | undefined;

/** Starts with the state that came with the session, and follows what changes; without one, the page says that it is refused. */
export function receive(first: DashboardState | undefined): void {
  if (!first) {
    connection.value = 'refused';
    return;
  }
  state.value = first;
  addEventListener('hashchange', route);
  route();
}

/** Shows what the address names: `#/job/ID`, `#/fleet/NAME`, `#/fleet/NAME/job/ID`, or the overview. */
function route(): void {
  const [, key] = /^#\/job\/([\w-]+)$/.exec(location.hash) ?? [];
  shownKey.value = key;
  clearDetail();
  unfollow?.();
  clearFleet();
  const query = new URLSearchParams({ ...(key !== undefined && { job: key }), ...fleetQuery(location.hash) });
  unfollow = follow(`/api/events?${query}`, {
    snapshot: (all: DashboardState) => {
      clearDetail();
      apply(all);
    },
    update: apply,
    ...fleetHandlers,
  });
}

function clearDetail(): void {
  coverage.value = undefined;
  samples.value = [];
  chunks.value = [];
  hasChunks.value = false;
}

function apply(next: DashboardState): void {
  state.value = next;
  const { detail } = next;
  if (!detail) return;
  if (detail.coverage) coverage.value = detail.coverage;
  if (detail.samples.length > 0) samples.value = [...samples.value, ...detail.samples].slice(-MAX_SAMPLES);
  if (detail.chunks.length > 0) {
    const since = next.nowMs - CHUNKS_MS;
    chunks.value = [...chunks.value, ...detail.chunks].filter(({ endedMs }) => endedMs > since).slice(-MAX_CHUNKS);
  }
  hasChunks.value = detail.hasChunks;
}
