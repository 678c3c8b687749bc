import { readFileSync } from 'node:fs';
import { bytes } from '../../../console/output/format.js';

/**
 * How much of this process's memory is in huge pages, for display. Random reads over megabytes miss a CPU's TLB with pages
 * of 4 KiB; the native device asks for pages of 2 MiB and may not get them. Undefined if the system does not report it.
 */
export function hugePageStatus(
  read: (path: string) => string = (path) => readFileSync(path, 'latin1'),
): string | undefined {
  try {
    const kilobytes = /^AnonHugePages:\s+(\d+) kB/m.exec(read('/proc/self/smaps_rollup'))?.[1];
    if (kilobytes === undefined) return undefined;
    const inUse = Number(kilobytes) * 1024;
    if (inUse > 0) return `${bytes(inUse)} in huge pages`;
    const enabled = /\[(\w+)\]/.exec(read('/sys/kernel/mm/transparent_hugepage/enabled'))?.[1];
    if (enabled === 'never')
      return 'no huge pages: they are off; `echo madvise > /sys/kernel/mm/transparent_hugepage/enabled` as root turns them on';
    return 'no huge pages: the system has none free';
  } catch {
    return undefined;
  }
}
