/**
 * `bench block` is that workload's own command. With several workloads, or an option that only the suite has, it means
 * `bench all`: `bench block words`, `bench block --full`. Imports nothing, since every command passes through here.
 */
export function routeBench(args: readonly string[]): string[] {
  const [command, ...rest] = args;
  const own = command === 'bench' ? rest.findIndex((word) => !workloads.has(word)) : 0;
  const named = own < 0 ? rest.length : own;
  const isSuite = named > 1 || (named === 1 && rest.some((word) => suiteOptions.has(word.replace(/=.*/, ''))));
  return isSuite ? ['bench', 'all', ...rest] : [...args];
}

const workloads = new Set(['block', 'words', 'uhash', 'encode', 'gaps']);
const suiteOptions = new Set(['--full', '--peers', '--scaling', '--save', '--markdown', '--compare']);
