import type { Call } from '../../../console/command/action.js';
import { Exit } from '../../../console/command/exit.js';
import type { JobSession } from '../../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor } from '../../../console/monitor/monitor.js';
import { count, duration, percent, plural, rate } from '../../../console/output/format.js';
import type { CommandResult } from '../../../console/output/output.js';
import { registerSecret } from '../../../console/output/redact.js';
import { type Range, shareOf } from '../../../engine/work/space.js';
import { FleetClient, FleetSearch } from '../../../fleet/client/index.js';
import { inviteFor } from '../../../fleet/local.js';
import { type Manifest, type PlainRecord, signingKey } from '../../../fleet/manifest/index.js';
import { Bus } from '../../../fleet/nats/index.js';
import { fleetGapParams, fleetGaps } from '../job/fleet.js';
import type { FoundGap } from '../job/flow.js';
import { GapVerifier } from '../job/verifier.js';
import type { SearchSpec } from './number-options.js';
import { reportGap } from './report.js';

export interface FleetGapOptions extends MonitorOptions {
  readonly fleet?: string | boolean;
  readonly dataDir: string;
  readonly first?: boolean;
  readonly list?: string;
}

/** Searches for gaps on a fleet: output, exit status and Ctrl-C are those of a search on this machine. */
export async function searchOnFleet(
  call: Call<FleetGapOptions>,
  spec: SearchSpec,
  space: Range,
  session: JobSession<FoundGap>,
): Promise<CommandResult> {
  const { options: opts, signal, output } = call;
  const params = fleetGapParams(spec.start, spec.length, spec.minGap) as unknown as PlainRecord;
  const { name, version } = fleetGaps;
  const manifest: Manifest = { work: { kind: 'workload', name, version, params }, space, mode: 'all' };
  const invite = inviteFor(opts.fleet, opts.dataDir);
  registerSecret(invite.seed);
  const bus = await Bus.connect(invite, 'millrace gaps');
  const found = new FleetSearch(
    new FleetClient(bus),
    { manifest, attachments: new Map() },
    signingKey(),
    signal,
    output.say,
  );
  const verifier = new GapVerifier();
  try {
    return await follow(call, spec, space, session, found, verifier);
  } finally {
    verifier.close();
    await bus.close();
  }
}

async function follow(
  call: Call<FleetGapOptions>,
  spec: SearchSpec,
  space: Range,
  session: JobSession<FoundGap>,
  found: FleetSearch,
  verifier: GapVerifier,
): Promise<CommandResult> {
  const { options: opts, output, signal } = call;
  let gaps = 0;
  const watched = {
    name: `gaps of ${spec.minGap} or more`,
    unit: 'int',
    ...space,
    get before() {
      return found.before;
    },
    progress: () => found.progress,
    devices: () => [],
    hits: () => gaps,
  };
  const none = (): void => undefined;
  const monitor = startMonitor(output, opts, watched, { pause: none, resume: none, stop: call.stop, signal });
  const began = performance.now();
  try {
    for await (const { index } of found) {
      const start = spec.start + index;
      const { isPrime, end } = await verifier.call('gapAt', start);
      // A composite may pass Fermat's test: the device was right, but there is no gap.
      const reported = isPrime ? reportGap(output, spec, { index, offset: index, start, end }, opts.list) : undefined;
      if (reported === undefined) continue;
      gaps++;
      await session.notify(reported);
      if (opts.first) break;
    }
  } finally {
    monitor.end();
  }
  const seconds = (performance.now() - began) / 1000;
  const done = found.progress?.done ?? 0n;
  const speed = rate(Number(done) / seconds, 'int');
  output.say(`${count(done)} integers in ${duration(seconds)}, ${speed} on ${plural(found.workers, 'worker')}`);
  const job = found.job?.slice(0, 12);
  const answer = { job, gaps, integers: done, seconds };
  if (found.isOver || (opts.first && gaps > 0)) return { exit: gaps > 0 ? Exit.ok : Exit.no, answer };
  const share = percent(shareOf(found.last?.done ?? 0n, space.length));
  output.say(`stopped at ${share}; the same command resumes it (job ${job} of the fleet)`);
  return { exit: call.stopped ?? Exit.stopped, answer };
}
