/**
 * Collects the garbage of this thread; undefined in pages, which have no way to ask for it. A worker makes next to no
 * garbage, so that V8 would not collect for thousands of dropped modules, each of which keeps its code mapped. With the
 * little that a worker has it takes 2 ms.
 */
export function collector(): (() => void) | undefined {
  const node = (globalThis as { process?: NodeJS.Process }).process;
  const v8 = node?.getBuiltinModule?.('node:v8');
  const vm = node?.getBuiltinModule?.('node:vm');
  if (!v8 || !vm) return undefined;
  // The flag shows `gc` in contexts that are made while it is set: in this one alone.
  v8.setFlagsFromString('--expose-gc');
  const collect: unknown = vm.runInNewContext('globalThis.gc');
  v8.setFlagsFromString('--no-expose-gc');
  return typeof collect === 'function' ? () => void collect() : undefined;
}
