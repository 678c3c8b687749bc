/**
 * What the page shows of a process, as it is sent to the page. Fields of `progress` and `coverage` are those of the events
 * of these names (docs/events.schema.json). An index is a number if that is exact, otherwise decimal text.
 */
export type Index = number | string;

export interface ProcessState {
  /** The job's id in the ledger, or `p` and the process id. */
  readonly key: string;
  readonly pid: number;
  readonly command: string;
  readonly version: string;
  /** When the process began, in ms since 1970. */
  readonly startedMs: number | undefined;
  readonly name: string;
  readonly unit: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** `bits=24`. */
  readonly params: string;
  /** Undefined if the job is not in the ledger. */
  readonly jobId: string | undefined;
  readonly priority: number | undefined;
  readonly canPrioritize: boolean;
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  readonly progress: Progress | undefined;
  readonly messages: readonly Message[];
  /** Further lines about the job. */
  readonly notes: readonly { readonly label: string; readonly text: string }[];
  /** True if the text of the kernel's file is known. */
  readonly hasCode: boolean;
  /** The exit status, once the command has ended. */
  readonly exit: number | undefined;
}

export interface Progress {
  readonly state: 'running' | 'paused' | 'stopping';
  readonly seconds: number;
  readonly done: Index;
  readonly length?: Index;
  readonly fraction?: number;
  readonly perSecond?: number;
  readonly maxPerSecond?: number;
  readonly rates: RateWindows;
  readonly etaSeconds?: number;
  readonly hits: number;
  readonly current?: { readonly from: Index; readonly to: Index };
  readonly restorePoint?: { readonly done: Index; readonly secondsAgo: number };
  readonly devices: readonly DeviceState[];
}

export interface RateWindows {
  readonly tenSeconds?: number;
  readonly minute?: number;
  readonly quarterHour?: number;
}

export interface DeviceState {
  readonly id: string;
  readonly perSecond?: number;
  readonly rates?: RateWindows;
  readonly share?: number;
  readonly chunkMs?: number;
  readonly fed?: number;
  readonly queueDepth?: number;
  readonly activeStreams?: number;
  readonly occupancy?: number;
  readonly perJoule?: number;
  readonly temperatureC?: number;
  readonly powerW?: number;
  readonly memoryBytes?: number;
  readonly joules?: number;
  readonly held?: string;
}

export interface Message {
  readonly kind: 'warning' | 'error' | 'lost';
  readonly text: string;
  /** When it arrived, in ms since 1970. */
  readonly atMs: number;
}

/** Indices in each part of the space. */
export interface CoverageState {
  readonly start: Index;
  readonly length: Index;
  readonly bins: number;
  readonly done: readonly Index[];
  readonly onDevice: readonly Index[];
  /** Tried: they count when a check has confirmed the result. Absent where results count at once. */
  readonly unconfirmed?: readonly Index[];
  readonly redone: readonly Index[];
  /** Indices that are no longer needed. */
  readonly skipped?: readonly Index[];
  /** What the indices are. */
  readonly of?: string;
}

/** Rates at a time: by device, and of all under the empty name. Over 10 s, 60 s and 15 min; null if unknown. */
export interface RateSample {
  readonly atMs: number;
  readonly rates: Readonly<Record<string, readonly (number | null)[]>>;
}

export interface ChunkState {
  readonly device: string;
  readonly stream: number;
  readonly items: number;
  readonly outcome: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** More about one process: the parts that have changed since the last time. */
export interface ProcessDetail {
  readonly coverage?: CoverageState;
  readonly samples: readonly RateSample[];
  readonly chunks: readonly ChunkState[];
  /** True if chunks are recorded. */
  readonly hasChunks: boolean;
}

/** What the server sends: first all, then what has changed. */
export interface DashboardState {
  readonly version: string;
  /** The data directory; undefined if the dashboard shows one command. */
  readonly directory: string | undefined;
  readonly nowMs: number;
  readonly processes: readonly ProcessState[];
  readonly fleets: readonly FleetSummary[];
  /** Of the job that the page shows. */
  readonly detail?: ProcessDetail;
}

/** A fleet that a process coordinates. Its page follows it by the events `fleet`. */
export interface FleetSummary {
  /** Its name. */
  readonly key: string;
  readonly pid: number;
  /** Workers that count, and jobs that are not over. */
  readonly workers: number;
  readonly jobs: number;
}

/** A job of the ledger. */
export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly done: Index;
  readonly start: Index;
  readonly length: Index;
  readonly fraction: number;
  readonly hits: number;
  /** Work that is left: by the present rate if it runs, by its mean rate otherwise. Undefined if unknown, or finished. */
  readonly etaSeconds: number | undefined;
  readonly elapsedSeconds: number;
  readonly priority: number;
  readonly devices: readonly string[];
  readonly begunMs: number;
  readonly activeMs: number;
  /** `bits=24`, as the command line gives them. */
  readonly params: string;
  readonly isRunning: boolean;
}

export interface JobDetail extends JobRow {
  /** True if nothing is left to do, or the job was cancelled. */
  readonly isOver: boolean;
  readonly args: readonly string[];
  readonly folder: string;
  readonly reason: string | undefined;
  readonly coverage: CoverageState;
}

export interface JobPage {
  readonly total: number;
  readonly rows: readonly JobRow[];
  /** Sums over all unfinished jobs. */
  readonly open: { readonly jobs: number; readonly etaSeconds: number | undefined };
}

export interface HitRow {
  readonly index: Index;
  /** Values by name, as text. */
  readonly values: Readonly<Record<string, string>>;
  readonly foundMs: number | undefined;
}

export interface HitPage {
  readonly total: number;
  readonly rows: readonly HitRow[];
}
