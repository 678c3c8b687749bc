/** What the playground's threads and its server tell each other: data only, since the user's code is not trusted. */

export type FieldData = number | bigint | boolean | readonly (number | bigint | boolean)[];
export type FieldRecord = Readonly<Record<string, FieldData>>;

/** A kernel and what it runs with, as the user's code gave it. */
export interface TaskData {
  /** `encodeKernel` */
  readonly kernel: Uint8Array;
  readonly job: FieldRecord;
  readonly chunk: FieldRecord;
  /** Arrays, or numbers of elements that are zero. */
  readonly buffers: Readonly<Record<string, ArrayBufferView | number>>;
  readonly start: bigint;
  /** The number of indices. */
  readonly length: bigint;
}

/** A mistake, and where it is: row and column from 1. */
export interface CodeFault {
  readonly message: string;
  readonly row?: number;
  readonly column?: number;
}

/** The sandbox's answer to a text. */
export type Evaluation = { readonly task: TaskData; readonly log: readonly string[] } | EvaluationFault;

export interface EvaluationFault {
  readonly fault: CodeFault;
  readonly log: readonly string[];
}

/** The name that positions of the user's code have. */
export const CODE_FILE = 'kernel.ts';

export const targets = ['cuda', 'opencl', 'wgsl', 'c', 'wat'] as const;
export type Target = (typeof targets)[number];

export interface TargetText {
  readonly target: Target;
  /** The text, or why there is none. */
  readonly text: string;
  readonly isRefused: boolean;
  /** The row of the user's code that each line was made of; 0 if none. */
  readonly rows: readonly number[];
  readonly statements: number;
  readonly lanes: number;
}

export interface PassData {
  readonly pass: string;
  readonly does: string;
  readonly text: string;
}

export interface CountsData {
  readonly name: string;
  /** Operations of every item, and of those that pass a test, by class. */
  readonly classes: readonly { readonly name: string; readonly always: number; readonly underTests: number }[];
  readonly words: { readonly jobAlways: number; readonly job: number; readonly chunk: number };
  readonly host: { readonly job: number; readonly chunk: number };
}

/** One statement that an item has executed. */
export interface Step {
  readonly row: number;
  readonly column: number;
  /** Blocks around it. */
  readonly depth: number;
  /** `mul`, `when`, `round`, `emit` */
  readonly what: string;
  readonly value: string;
}

export interface StepsData {
  readonly steps: readonly Step[];
  /** True if the item has executed more than these. */
  readonly isCut: boolean;
  readonly hits: number;
  /** Why the item ended early, if it did. */
  readonly fault?: CodeFault;
}

export interface HitData {
  readonly index: bigint;
  readonly fields: FieldRecord;
}

export interface BufferData {
  readonly name: string;
  readonly type: string;
  readonly length: number;
  /** The first elements. */
  readonly head: readonly (number | bigint)[];
}

export interface RunData {
  readonly device: string;
  readonly tried: bigint;
  readonly seconds: number;
  readonly hits: readonly HitData[];
  /** Buffers that the kernel writes. */
  readonly buffers: readonly BufferData[];
  /** Why it ended before all indices were tried. */
  readonly cut?: 'stopped' | 'hits' | 'time';
}

export interface DeviceData {
  readonly id: string;
  readonly name: string;
}

export interface DevicesData {
  readonly devices: readonly DeviceData[];
  readonly absent: readonly { readonly id: string; readonly reason: string }[];
}

/** What the page asks of its worker. Requests of one worker are answered in order. */
export type WorkerRequest =
  | { readonly ask: 'compile'; readonly kernel: Uint8Array; readonly first: Target }
  | { readonly ask: 'steps'; readonly task: TaskData; readonly index: bigint }
  | { readonly ask: 'devices' }
  /** Without a limit it runs until it is stopped. */
  | { readonly ask: 'run'; readonly task: TaskData; readonly device: string; readonly limitMs?: number };

/** `part` may come several times before the answer. */
export type WorkerReply =
  | { readonly id: number; readonly part: CompilePart | RunProgress }
  | { readonly id: number; readonly done: StepsData | DevicesData | RunData | null }
  | { readonly id: number; readonly fault: CodeFault };

export type CompilePart =
  | { readonly counts: CountsData }
  | { readonly passes: readonly PassData[] }
  | { readonly text: TargetText };

export interface RunProgress {
  readonly tried: bigint;
}
