import type { CaseOptions, WorkloadBench } from '../../bench/case.js';
import { compare } from '../../bench/measure.js';
import { comparisonTable, measurementFields } from '../../bench/report.js';
import { type SavedPeers, savedPeers } from '../../bench/saved.js';
import type { Output } from '../../console/output/output.js';
import type { Device } from '../../device/device.js';
import { openDevice } from '../../device/registry.js';
import { firstLine, MillraceError } from '../../kernel/error.js';

/** Measures peers beside ours, on each given device that they support, and always on the CPU, where most of them run. */
export async function comparePeers(
  output: Output,
  selected: readonly WorkloadBench[],
  devices: readonly Device[],
  options: CaseOptions,
): Promise<SavedPeers[]> {
  const isOnCpu = devices.some(({ info }) => info.kind === 'native' || info.kind === 'wasm');
  const cpu = isOnCpu ? undefined : await openDevice('cpu');
  const all: SavedPeers[] = [];
  try {
    for (const { workload, peers } of selected) {
      for (const device of cpu ? [...devices, cpu] : devices) {
        for await (const { title, candidates, absent } of peers?.(device, options) ?? []) {
          output.line(`\n${output.style.bold(`${workload}: ${title}`)}`);
          const onFailed = (name: string, error: MillraceError) =>
            output.warn(`left out: ${name}: ${firstLine(error)}`);
          const comparison = await compare(candidates, { onFailed }).catch((error: unknown) => {
            // What fails here must not lose the other figures.
            if (!(error instanceof MillraceError)) throw error;
            output.warn(`no comparison: ${error.message}`);
          });
          if (!comparison) continue;
          all.push(savedPeers(workload, title, comparison, absent));
          for (const line of comparisonTable(comparison)) output.line(line);
          for (const [at, one] of comparison.measurements.entries()) {
            output.event('measurement', { ...measurementFields(one), ratio: comparison.ratios[at] });
          }
          if (absent.length > 0) output.line(`not installed: ${absent.join(', ')}`);
        }
      }
    }
    return all;
  } finally {
    await cpu?.close();
  }
}
