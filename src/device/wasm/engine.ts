import { availableThreads } from '../pool/threads/available-threads.js';

/** The engine that runs WebAssembly here, Node's or a page's. */
export interface WasmEngine {
  readonly name: string;
  readonly threads: number;
  readonly versions: Readonly<Record<string, string>>;
}

export function thisEngine(): WasmEngine {
  const node = (globalThis as { process?: NodeJS.Process }).process;
  const system = node?.getBuiltinModule?.('node:os');
  if (node && system) {
    const { v8 = '', node: version = '' } = node.versions;
    const processor = system.cpus()[0]?.model.trim() || system.arch();
    return {
      name: `${processor}, by WebAssembly`,
      threads: availableThreads(),
      versions: { v8, node: version },
    };
  }
  const { userAgent = 'a page' } = (globalThis as { navigator?: Navigator }).navigator ?? {};
  const browser = /(Firefox|Edg|Chrome|Safari)\/[\d.]+/.exec(userAgent)?.[0] ?? userAgent;
  return { name: `WebAssembly in ${browser}`, threads: availableThreads(), versions: { browser } };
}

interface Navigator {
  readonly userAgent?: string;
}
