/** Limits for kernels that came as bytes. */
export interface KernelLimits {
  /** Bytes of the encoded kernel. */
  readonly bytes: number;
  /** Statements after all calls of std functions are expanded. */
  readonly statements: number;
  /** Blocks inside each other. */
  readonly depth: number;
  /** Words of all job, chunk and hit values. */
  readonly parameterWords: number;
  readonly functions: number;
  readonly buffers: number;
  readonly tables: number;
  /** Bytes of all near arrays, and of all tables. */
  readonly nearBytes: number;
  readonly tableBytes: number;
  /** Statements that the interpreter executes for one item. Launches on other devices end when they are cancelled. */
  readonly itemSteps: number;
}

export const defaultKernelLimits: KernelLimits = {
  bytes: 1 << 20,
  statements: 250_000,
  depth: 100,
  parameterWords: 1 << 16,
  functions: 256,
  buffers: 64,
  tables: 64,
  nearBytes: 256 << 10,
  tableBytes: 1 << 20,
  itemSteps: 1e8,
};
