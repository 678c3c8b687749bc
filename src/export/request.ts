import type { FieldValues, Kernel } from '../kernel/index.js';

/** The kinds of devices that an exported library runs on. */
export const exportTargets = ['cpu', 'cuda', 'opencl'] as const;
export type ExportTarget = (typeof exportTargets)[number];

/** How a CUDA program feeds the GPU: by launches, or by a queue that a grid on the GPU reads. */
export const cuPipelines = ['poll', 'persistent'] as const;
export type CuPipeline = (typeof cuPipelines)[number];

/** A kernel to export. Processors may have different kernels, which give the same results. */
export interface ExportKernel {
  /** The command that wrote it, for the files' heads: `block`, or a file's name. */
  readonly source: string;
  readonly cpu: ExportVariant;
  readonly gpu: ExportVariant;
  /** The variant for ARM with SHA-2 instructions, if another is faster there. */
  readonly armSha2?: ExportVariant;
  /** The hit's field that holds the low word of its index. Needed if an item processes several indices. */
  readonly indexField?: string;
  /** Bytes of a buffer's row for each index, where they are always the same. Others are arguments. */
  readonly rowBytes?: Readonly<Record<string, number>>;
  /** The kernel of the CUDA program that `--language cu` writes. Undefined if it cannot write one. */
  readonly program?: Kernel;
  /**
   * Hand-written C files that are built into the library; their headers are installed. `name` is the prefix of functions. An
   * `example.c` stands in place of the generated one.
   */
  readonly interface?: (name: string, version: string) => readonly ExportedFile[];
  /** The kernels and hand-written files of a Python package, if it is more than a module of this kernel. */
  readonly engine?: ExportEngine;
  /** A search for the example program; by default over the first indices with zeros for the job. */
  readonly example?: { readonly job: FieldValues; readonly start: bigint; readonly count: bigint };
}

export interface ExportVariant {
  readonly kernel: Kernel;
  /** Indices that one item processes; default 1. */
  readonly indices?: number;
  /** Items, or tiles, that one index takes; default 1. */
  readonly items?: number;
  /** Bytes of output that one item makes, if that is not a row. The kernel's position then comes from its chunk values. */
  readonly itemBytes?: number;
}

/** A Python package over several kernels. */
export interface ExportEngine {
  readonly summary: string;
  /** How its device is chosen and a first program, in Markdown, for the README. */
  readonly usage: (name: string) => string;
  /** The kernels; their names are suffixes of the package's. */
  readonly kernels: readonly (Pick<ExportKernel, 'cpu' | 'gpu'> & { readonly name: string })[];
  /** Hand-written C files of the library. */
  readonly sources: (name: string) => readonly ExportedFile[];
  /** The Python files of the package's folder. */
  readonly files: (name: string) => readonly ExportedFile[];
}

export interface ExportRequest {
  readonly kernel: ExportKernel;
  /** The prefix of files, functions and types. */
  readonly name: string;
  readonly targets: readonly ExportTarget[];
  /** Of a CUDA program; default `poll`. */
  readonly pipeline?: CuPipeline;
}

/** A file of the exported folder. */
export interface ExportedFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly text: string;
}
