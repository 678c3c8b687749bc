import type { ChunkRecord } from '../../src/engine/telemetry/record.js';

/** Returns a successful chunk: each step is some microseconds after the last, from `from` on. */
export function recordOf(given: Partial<ChunkRecord> & { readonly from?: number } = {}): ChunkRecord {
  const { from = 0, ...own } = given;
  const at = (microseconds: number): bigint => BigInt(Math.round((from + microseconds) * 1000));
  return {
    sequence: 0,
    job: 'block 1',
    device: 'cuda:0',
    stream: 0,
    slot: 0,
    start: 0n,
    count: 1000,
    meant: 1000,
    policy: 'hold',
    waitRounds: 0,
    active: 1,
    busy: 1,
    streams: 1,
    free: 6,
    starvedNs: 0n,
    occupancy: undefined,
    enqueuedNs: at(10),
    submittedNs: at(25),
    launchedNs: at(20),
    startedNs: at(40),
    computeStartedNs: at(50),
    computeEndedNs: at(990),
    endedNs: at(1000),
    noticedNs: at(1010),
    reapedNs: at(1030),
    verifiedNs: at(1035),
    committedNs: at(1040),
    bytesToDevice: 0,
    bytesToHost: 64,
    blockingWaits: 0,
    blockedNs: 0,
    counted: given.outcome === undefined || given.outcome === 'counted' ? (given.count ?? 1000) : 0,
    outcome: 'counted',
    ...own,
  };
}
