/** Time in ms as one side of the protocol counts it, with timers on it. Tests run it faster. */
export interface Clock {
  now(): number;
  /** Calls `run` after `ms`, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
