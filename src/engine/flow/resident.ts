import type { Completion, Report, Resident, ResidentRange } from '../../device/device.js';

/**
 * A range on a resident grid that must not be lost with it: where the grid ends for good before the range is done,
 * `otherwise` runs it by launches. Nothing of what the grid had done of it was read, so nothing counts twice.
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
  retried.catch(() => undefined); // nobody has to look at a completion
  return { done: retried };
}
