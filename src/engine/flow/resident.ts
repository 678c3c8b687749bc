import type { Completion, Report, Resident, ResidentRange } from '../../device/device.js';

/**
 * Submits a range to a resident grid. If the grid fails before the range is done, `otherwise` runs the range by
 * launches. The grid's partial results are never read, so nothing counts twice.
 */
export function submitResident(
  resident: Resident,
  range: ResidentRange,
  ring: Uint32Array,
  otherwise: () => Completion,
): Completion {
  if (resident.fault) return otherwise();
  const { done } = resident.submit(range, ring);
  const retried = done.then((report): Report | Promise<Report> => {
    return report.complete || !resident.fault ? report : otherwise().done;
  });
  retried.catch(() => undefined); // callers may ignore a completion
  return { done: retried };
}
