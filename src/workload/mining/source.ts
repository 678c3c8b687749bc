import type { Range } from '../../engine/index.js';

/** A result to submit: its work, and whether it is a whole block. */
export interface ShareBase {
  readonly work: WorkBase;
  readonly isBlock: boolean;
}

/** The part of a work that is the same for every coin. */
export interface WorkBase {
  /** The pool's or the node's id of the work. */
  readonly id: string;
  readonly height?: number;
}

/** Where work comes from and shares go to: a node or pools. */
export interface WorkSource<Share extends ShareBase> {
  /** The server's address, for display. */
  readonly name: string;
  /** What is submitted. */
  readonly unit: 'block' | 'share';
  /** Rejects if mining can never succeed. Resolves with the chain, if it is known already. */
  check?(signal: AbortSignal): Promise<string | undefined>;
  /** Runs until the signal is aborted; rejects on an error that waiting cannot resolve. */
  run(listener: SourceListener<Share['work']>, signal: AbortSignal): Promise<void>;
  /** Resolves with the server's verdict. Never rejects. */
  submit(share: Share): Promise<Verdict>;
}

export interface SourceListener<Work> {
  /** Replaces the current work. `isClean`: all earlier work is worthless. */
  onWork(work: Work, isClean: boolean): void;
  /** The connection is lost: nothing can be mined until the next work. */
  onIdle(): void;
  /** Reports an event of the connection that users should see. */
  onEvent(event: SourceEvent): void;
}

export interface SourceEvent {
  readonly state: 'connected' | 'lost' | 'refused' | 'message' | 'difficulty';
  readonly server: string;
  readonly message: string;
}

/** The server's answer to a share. */
export interface Verdict {
  readonly state: 'accepted' | 'rejected' | 'stale' | 'lost';
  /** Set if the share was not accepted. */
  readonly reason?: string;
}

/** Mines a work until the signal or its last header. Yields shares as they are found, each checked on the CPU. */
export type Scan<Share extends ShareBase> = (work: Share['work'], options: ScanOptions) => AsyncIterable<Share>;

export interface ScanOptions {
  readonly signal: AbortSignal;
  /** The segment to start with, so that a work that is sent twice is not mined twice. */
  readonly firstSegment?: bigint;
  /** Tries so far, in the coin's unit. */
  readonly onProgress?: (tried: bigint) => void;
  /** The first chunk is on its way to a device. */
  readonly onStart?: () => void;
  /** Called with the number of segments that have been started. */
  readonly onSegment?: (segments: bigint) => void;
  /** Called with the indices of the search that starts. */
  readonly onSpace?: (space: Range) => void;
}
