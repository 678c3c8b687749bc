import { DiskCache } from '../../cache/cache.js';
import { compile } from '../../native/compile.js';
import { findCompiler } from '../../native/compiler.js';
import { thisCpu } from '../../native/cpu.js';

/**
 * The function that CUDA calls when a stream has reached a mark. It sets a word. It is native because a JavaScript
 * function called from a driver thread would block the driver until this process runs it.
 */
const TEXT = `#include <stdint.h>
void millrace_signal(void *word) { __atomic_store_n((uint32_t *)word, 1u, __ATOMIC_RELEASE); }
`;
const SYMBOL = 'millrace_signal';

/** Compiles the function with the system's compiler, once per machine; undefined if there is none. */
export async function signalLibrary(): Promise<{ readonly library: string; readonly symbol: string } | undefined> {
  const compiler = await findCompiler();
  if ('reason' in compiler) return undefined;
  const source = { name: 'signal', text: TEXT, lanes: 1, lineOrigins: [] };
  const { path } = await compile(source, compiler, thisCpu(), await DiskCache.open());
  return { library: path, symbol: SYMBOL };
}
