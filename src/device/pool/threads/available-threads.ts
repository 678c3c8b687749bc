/** The number of threads that the machine can run at once for this process or page. */
export function availableThreads(): number {
  const { process, navigator } = globalThis as {
    readonly process?: Partial<NodeJS.Process>;
    readonly navigator?: { readonly hardwareConcurrency?: number };
  };
  return process?.getBuiltinModule?.('node:os').availableParallelism() ?? navigator?.hardwareConcurrency ?? 1;
}
