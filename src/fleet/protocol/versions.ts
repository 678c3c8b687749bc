/**
 * Versions of the messages, the first and the last that a coordinator reads. It answers a worker in the worker's own version, and
 * broadcasts in the oldest, so that workers of an earlier release go on working when the coordinator is updated first.
 */
export interface ProtocolVersions {
  readonly oldest: number;
  readonly current: number;
}

export const VERSIONS: ProtocolVersions = { oldest: 1, current: 1 };

export const isReadable = ({ oldest, current }: ProtocolVersions, version: number): boolean =>
  version >= oldest && version <= current;

export const versionsText = ({ oldest, current }: ProtocolVersions): string =>
  oldest === current ? String(current) : `${oldest} to ${current}`;
