import { clockNs } from '../../device/clock.js';
import type { ChunkRecord } from '../../engine/telemetry/record.js';
import type { EventHub } from './event-hub.js';

/**
 * Publishes the chunks that have ended, twice a second, as one event: a page draws them as a timeline. Of a device that ends
 * thousands of chunks a second only some are in it; the trace has all.
 */
export class ChunkFeed {
  readonly #hub: EventHub;
  readonly #timer: NodeJS.Timeout;
  #chunks: FeedChunk[] = [];

  constructor(hub: EventHub) {
    this.#hub = hub;
    this.#timer = setInterval(() => this.#publish(), PUBLISH_MS).unref();
  }

  add({ device, stream, startedNs, endedNs, count, outcome }: Readonly<ChunkRecord>): void {
    if (!this.#hub.isWatched || this.#chunks.length >= MAX_CHUNKS || endedNs === 0n) return;
    this.#chunks.push({ device, stream, startedNs, endedNs, items: count, outcome: outcome ?? 'dropped' });
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #publish(): void {
    if (this.#chunks.length === 0) return;
    const now = clockNs();
    const ago = (ns: bigint): number => Number(now - ns) / 1e9;
    const chunks = this.#chunks.map(({ startedNs, endedNs, ...rest }) => ({
      ...rest,
      startedAgo: ago(startedNs),
      endedAgo: ago(endedNs),
    }));
    this.#chunks = [];
    this.#hub.publish('chunks', { chunks });
  }
}

interface FeedChunk extends Pick<ChunkRecord, 'device' | 'stream' | 'startedNs' | 'endedNs'> {
  readonly items: number;
  readonly outcome: string;
}

const PUBLISH_MS = 500;
const MAX_CHUNKS = 200;
