import type { Share } from './scan-work.js';
import type { Work } from './work.js';

/** Where work comes from and shares go to: a node or pools. */
export interface WorkSource {
  /** For people: where it is. */
  readonly name: string;
  /** What the unit of success is called. */
  readonly unit: 'block' | 'share';
  /** Rejects where nothing could ever come of it; the chain, where it is known already. */
  check?(signal: AbortSignal): Promise<string | undefined>;
  /** Works until the signal is aborted; rejects when no patience would help. */
  run(listener: SourceListener, signal: AbortSignal): Promise<void>;
  /** Resolves with what became of it. Never rejects. */
  submit(share: Share): Promise<Verdict>;
}

export interface SourceListener {
  /** Mine this from now on. `isClean`: nothing of what was before is worth anything any more. */
  work(work: Work, isClean: boolean): void;
  /** Nothing can be mined until the next work: the connection is lost. */
  idle(): void;
  /** Something of the connection that people should know. */
  told(what: Told): void;
}

export interface Told {
  readonly state: 'connected' | 'lost' | 'refused' | 'message' | 'difficulty';
  readonly server: string;
  readonly message: string;
}

/** What became of a share. */
export interface Verdict {
  readonly state: 'accepted' | 'rejected' | 'stale' | 'lost';
  /** Why, where it was not accepted. */
  readonly reason?: string;
}
