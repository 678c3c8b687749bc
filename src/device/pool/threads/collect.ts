/**
 * Collects this thread's garbage if the runtime allows it (Node). A worker allocates so little that V8 would not
 * collect for a long time, whatever the garbage retains: the code of dropped modules, shared memory. On a worker's
 * small heap it takes 2 ms.
 */
export function collectGarbage(): void {
  collect ??= collector();
  collect();
}

let collect: (() => void) | undefined;

function collector(): () => void {
  const node = (globalThis as { process?: NodeJS.Process }).process;
  const v8 = node?.getBuiltinModule?.('node:v8');
  const vm = node?.getBuiltinModule?.('node:vm');
  if (!v8 || !vm) return () => undefined;
  // The flag exposes `gc` only in contexts created while it is set: in this one alone. It belongs to the whole process:
  // another thread that does the same may clear it in between.
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    v8.setFlagsFromString('--expose-gc');
    const found: unknown = vm.runInNewContext('globalThis.gc');
    v8.setFlagsFromString('--no-expose-gc');
    if (typeof found === 'function') return found as () => void;
  }
  return () => undefined;
}
const MAX_ATTEMPTS = 20;
