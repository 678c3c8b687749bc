import { describe, expect, it } from 'vitest';
import { backOff, type Clock, keepConnected, type Session } from './failover.js';

/** A clock that jumps to the end of the next wait. */
class JumpingClock implements Clock {
  #now = 0;
  readonly #waits = new Set<{ at: number; wake: () => void }>();
  now(): number {
    return this.#now;
  }
  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wait = { at: this.#now + ms, wake: resolve };
      this.#waits.add(wait);
      signal.addEventListener('abort', () => this.#waits.delete(wait) && resolve(), { once: true });
    });
  }
  /** Runs everything that happens until that time. */
  async run(until: number): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      const next = [...this.#waits].sort((a, b) => a.at - b.at)[0];
      if (!next || next.at > until) break;
      this.#waits.delete(next);
      this.#now = next.at;
      next.wake();
    }
    this.#now = until;
  }
}

class FakeSession implements Session {
  readonly closed: Promise<string>;
  close: (why?: string) => void = () => undefined;
  constructor() {
    this.closed = new Promise((resolve) => {
      this.close = (why = 'closed') => resolve(why);
    });
  }
}

function start(servers: number, isUp: (server: number, now: number) => boolean) {
  const clock = new JumpingClock();
  const stop = new AbortController();
  const story: string[] = [];
  const at = (): string => `${Math.round(clock.now() / 1000)} s`;
  let session: FakeSession | undefined;
  const over = keepConnected<FakeSession>({
    servers,
    signal: stop.signal,
    clock,
    returnMs: 300_000,
    open: async (server) => {
      if (!isUp(server, clock.now())) throw new Error('down');
      return new FakeSession();
    },
    onUse: (used, server) => {
      session = used;
      story.push(`${at()}: use ${server}`);
    },
    onLost: (server, why) => story.push(`${at()}: lost ${server} (${why})`),
    onRefused: (server) => story.push(`${at()}: refused ${server}`),
  });
  const end = (): Promise<void> => {
    stop.abort();
    return over;
  };
  return { clock, story, lose: () => session?.close('gone'), end };
}

describe('servers in order', () => {
  it('that are all down are retried forever, less and less often, at least once a minute', async () => {
    const { clock, story, end } = start(2, () => false);
    await clock.run(24 * 3600_000);
    await end();
    const tries = story.filter((one) => one.endsWith('refused 0')).map((one) => Number.parseInt(one, 10));
    expect(tries.slice(0, 9)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
    expect(tries.length).toBe(7 + Math.floor((24 * 3600 - 63) / 60));
    expect(story.filter((one) => one.endsWith('refused 1'))).toHaveLength(tries.length);
  });

  it('give way to the first one when it answers again', async () => {
    const { clock, story, end } = start(3, (server, now) => server === 2 || (server === 0 && now > 700_000));
    await clock.run(2_000_000);
    await end();
    expect(story.filter((one) => !one.includes('refused'))).toEqual([
      '0 s: use 2',
      '900 s: use 0',
      '2000 s: lost 0 (stopped)',
    ]);
  });

  it('are reconnected at once after a long session, but not if they drop every connection', async () => {
    const { clock, story, lose, end } = start(1, () => true);
    await clock.run(100_000);
    lose();
    await clock.run(101_500);
    expect(story).toEqual(['0 s: use 0', '100 s: lost 0 (gone)', '101 s: use 0']);
    for (let n = 0; n < 400; n++) {
      lose();
      await clock.run(clock.now() + 1000);
    }
    await end();
    // 400 s of a server that drops every connection: not 400 connections.
    expect(story.filter((one) => one.includes('use')).length).toBeLessThan(20);
  });

  it('are retried after 1, 2, 4 … 60 seconds', () => {
    expect([0, 1, 2, 5, 6, 100].map(backOff)).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000]);
  });
});
