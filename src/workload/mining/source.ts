/** What is worth telling a server: which work it belongs to, and whether it is a whole block. */
export interface Mined {
  readonly work: MinedWork;
  readonly isBlock: boolean;
}

/** What is mined, as far as it is the same for every coin. */
export interface MinedWork {
  /** The pool's or the node's name for it. */
  readonly id: string;
  readonly height?: number;
}

/** Where work comes from and shares go to: a node or pools. */
export interface WorkSource<Share extends Mined> {
  /** For people: where it is. */
  readonly name: string;
  /** What the unit of success is called. */
  readonly unit: 'block' | 'share';
  /** Rejects where nothing could ever come of it; the chain, where it is known already. */
  check?(signal: AbortSignal): Promise<string | undefined>;
  /** Works until the signal is aborted; rejects when no patience would help. */
  run(listener: SourceListener<Share['work']>, signal: AbortSignal): Promise<void>;
  /** Resolves with what became of it. Never rejects. */
  submit(share: Share): Promise<Verdict>;
}

export interface SourceListener<Work> {
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

/** How a work is mined: shares as they are found, each checked on the CPU, until the signal or the work's last header. */
export type Scan<Share extends Mined> = (work: Share['work'], options: ScanOptions) => AsyncIterable<Share>;

export interface ScanOptions {
  readonly signal: AbortSignal;
  /** Where to begin among the work's headers, so that one that is sent twice is not mined twice. */
  readonly firstTurn?: bigint;
  /** Tries so far, in the coin's unit. */
  readonly onProgress?: (tried: bigint) => void;
  /** The first chunk is on its way to a device. */
  readonly onStart?: () => void;
  /** So many turns have been begun. */
  readonly onTurn?: (turns: bigint) => void;
}
