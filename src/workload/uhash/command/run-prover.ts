import type { Call } from '../../../console/command/action.js';
import { type EngineSetup, withEngine } from '../../../console/command/engine.js';
import type { FleetOptions } from '../../../console/fleet/place.js';
import { type JobDescription, type JobSession, openJobSession } from '../../../console/ledger/job-session.js';
import { type StripCoverage, stripIn } from '../../../console/live/live-task.js';
import {
  type Monitor,
  type MonitorControls,
  type MonitorOptions,
  startMonitor,
} from '../../../console/monitor/monitor.js';
import type { DeviceCommandOptions } from '../../../console/options/device-options.js';
import type { PipelineCommandOptions } from '../../../console/options/pipeline-options.js';
import type { TuningOptions } from '../../../console/options/tuning-options.js';
import { bytes, count, duration, plural, rate } from '../../../console/output/format.js';
import type { CommandResult, Output } from '../../../console/output/output.js';
import { withPreparationBar } from '../../../console/output/preparation.js';
import type { TelemetryOptions } from '../../../console/telemetry/options.js';
import type { Device } from '../../../device/device.js';
import { type DeviceStatus, Engine, type Range } from '../../../engine/index.js';
import type { Challenge } from '../job/flow.js';
import { hugePageStatus } from '../job/huge-pages.js';
import type { LedgerProof } from '../job/ledger-job.js';
import { createProver, type ProofFinder } from '../job/prover.js';
import { IN_FLIGHT, type Plan } from '../kernel/plan.js';
import { backends } from '../options.js';

export interface ProverCommandOptions
  extends DeviceCommandOptions,
    PipelineCommandOptions,
    MonitorOptions,
    TelemetryOptions,
    TuningOptions,
    FleetOptions {
  readonly device: string;
  readonly backend?: string;
  readonly batchSize?: number;
}

/** What is to be proved, and where. */
export interface ProverTask {
  readonly name: string;
  readonly challenge: Challenge;
  readonly wanted: 'first' | 'all';
  readonly isFleet: boolean;
  /** Number of nonces, if known. */
  readonly length?: bigint;
  /** The nonces to try, known once the prover has its plans; undefined if they are not one range. */
  nonces(prover: ProofFinder): Range | undefined;
  /** The ledger job, described once the prover has its plans. */
  jobSpec?(prover: ProofFinder): JobDescription | undefined;
}

export interface ProverRun {
  elapsedSeconds(): number;
  setProofCount(proofs: number): void;
  readonly session: JobSession<LedgerProof>;
  /** How a stopped job is resumed. Undefined if nothing is stored. */
  resumeHint(): string | undefined;
}

type ProverWork = (prover: ProofFinder, run: ProverRun) => Promise<CommandResult>;

/** Runs `work` with a prover on this machine's devices or on a fleet, and watches it. */
export function runProver(
  call: Call<ProverCommandOptions>,
  task: ProverTask,
  work: ProverWork,
): Promise<CommandResult> {
  return (task.isFleet ? runOnFleet : runOnDevices)(call, task, work);
}

/** Opens devices and a prover, compiles and allocates, and closes everything. */
function runOnDevices(call: Call<ProverCommandOptions>, task: ProverTask, work: ProverWork): Promise<CommandResult> {
  const { output, options: opts } = call;
  const setup: EngineSetup = {
    name: 'uhash',
    unit: 'H',
    device: opts.backend === undefined ? opts.device : (backends[opts.backend] ?? opts.backend),
    make: (devices, options) => new Engine(devices, { ...IN_FLIGHT, ...options }),
  };
  return withEngine(call, setup, async ({ engine, devices, startTelemetry }) => {
    const prover = createProver(devices, {
      challenge: task.challenge,
      engine,
      ...(opts.batchSize !== undefined && { batch: opts.batchSize }),
      onPlan: (device, plan) => reportPlan(output, device, plan, opts.batchSize),
    });
    try {
      // Compile time is not part of a rate.
      await withPreparationBar(output, 'compiling', 1, () => prover.prepare(task.wanted), call.signal);
      startTelemetry();
      const session = await openJobSession<LedgerProof>(call, task.jobSpec?.(prover), { isOptional: true });
      const id = session.ledger?.id;
      const place: ProverPlace = {
        prover,
        session,
        devices: () => engine.devices,
        strip: () => stripIn(task.nonces(prover), engine.coverage, 'nonces'),
        controls: session.controls(engine, call),
        resumeHint: () => (id === undefined ? undefined : `the same command resumes it (job ${id})`),
      };
      const result = await watchProver(call, task, place, work);
      reportPages(output, devices);
      return result;
    } finally {
      await prover.close();
    }
  });
}

/** The job is in the ledger of the fleet's coordinator. */
async function runOnFleet(
  call: Call<ProverCommandOptions>,
  task: ProverTask,
  work: ProverWork,
): Promise<CommandResult> {
  const [{ withFleet }, { FleetProver }] = await Promise.all([
    import('../../../console/fleet/jobs.js'),
    import('../job/fleet.js'),
  ]);
  const session = await openJobSession<LedgerProof>(call, undefined);
  return withFleet(call, task.name, (jobs) => {
    const prover = new FleetProver(jobs, task.challenge, call.options.batchSize);
    const place: ProverPlace = {
      prover,
      session,
      devices: () => [],
      controls: jobs.controls(call),
      resumeHint: () => `the same command resumes it (job ${prover.job?.slice(0, 12)} of the fleet)`,
    };
    return watchProver(call, task, place, work);
  });
}

/** Where proofs are found. */
interface ProverPlace extends Pick<ProverRun, 'session' | 'resumeHint'> {
  readonly prover: ProofFinder;
  devices(): readonly DeviceStatus[];
  strip?(): StripCoverage | undefined;
  readonly controls: MonitorControls;
}

async function watchProver(
  { output, options: opts }: Call<ProverCommandOptions>,
  { challenge, length }: ProverTask,
  { prover, session, devices, strip, controls, resumeHint }: ProverPlace,
  work: ProverWork,
): Promise<CommandResult> {
  const before = prover.hashes;
  const start = performance.now();
  let proofs = 0;
  const watched = {
    name: `uhash, ${plural(challenge.difficulty, 'bit')}`,
    unit: 'H',
    ...(length !== undefined && { length }),
    progress: () => ({ done: prover.hashes - before }),
    devices,
    ...(strip && { strip }),
    hits: () => proofs,
    chance: 2 ** -challenge.difficulty,
  };
  const monitor = startMonitor(output, opts, watched, controls);
  session.listen(monitor);
  const pausing = pauseBySignal(monitor);
  const result = await work(prover, {
    elapsedSeconds: () => (performance.now() - start) / 1000,
    setProofCount: (now) => {
      proofs = now;
    },
    session,
    resumeHint,
  }).finally(async () => {
    pausing.end();
    monitor.end();
    await session.close();
  });
  const seconds = (performance.now() - start) / 1000;
  const hashes = prover.hashes - before;
  const figures = `${count(hashes)} hashes in ${duration(seconds)}, ${rate(Number(hashes) / seconds, 'H')}`;
  output.say(output.stderrStyle.dim(figures));
  return result;
}

/** SIGUSR1 is reserved by Node; Windows has neither. */
function pauseBySignal(monitor: Monitor): { end(): void } {
  let isPaused = false;
  const toggle = (): void => {
    isPaused = !isPaused;
    monitor.pause(isPaused);
  };
  if (process.platform !== 'win32') process.on('SIGUSR2', toggle);
  return { end: () => void process.off('SIGUSR2', toggle) };
}

function reportPlan(output: Output, { info }: Device, plan: Plan, requested: number | undefined): void {
  const { batch, chainsPerItem, copies, tables, pads, launches } = plan;
  output.event('plan', { device: info.id, batch, chainsPerItem, copies, tables, pads, launches });
  output.explain(`${info.id}: batches of ${count(batch)} nonces, ${bytes(batch * 2 ** 21)} each`);
  if (requested !== undefined && batch < requested)
    output.warn(`${info.id} has no memory for batches of ${count(requested)}: using ${count(batch)}`);
}

function reportPages(output: Output, devices: readonly Device[]): void {
  const status = devices.some(({ info }) => info.kind === 'native') ? hugePageStatus() : undefined;
  if (status === undefined) return;
  output.event('pages', { status });
  output.say(output.stderrStyle.dim(`scratchpads: ${status}`));
}
