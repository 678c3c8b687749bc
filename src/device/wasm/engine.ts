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
      threads: system.availableParallelism(),
      versions: { v8, node: version },
    };
  }
  const { userAgent = 'a page', hardwareConcurrency = 1 } = (globalThis as { navigator?: Navigator }).navigator ?? {};
  const browser = /(Firefox|Edg|Chrome|Safari)\/[\d.]+/.exec(userAgent)?.[0] ?? userAgent;
  return { name: `WebAssembly in ${browser}`, threads: hardwareConcurrency, versions: { browser } };
}

interface Navigator {
  readonly userAgent?: string;
  readonly hardwareConcurrency?: number;
}
