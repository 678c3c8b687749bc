import type { Call } from '../../../console/command/action.js';
import { type EngineSetup, withEngine } from '../../../console/command/engine.js';
import { Exit } from '../../../console/command/exit.js';
import { type FleetOptions, isOnFleet } from '../../../console/fleet/place.js';
import { type JobSession, type JobSessionOptions, openJobSession } from '../../../console/ledger/job-session.js';
import { type MonitorControls, type MonitorOptions, startMonitor } from '../../../console/monitor/monitor.js';
import type { DeviceCommandOptions } from '../../../console/options/device-options.js';
import type { PipelineCommandOptions } from '../../../console/options/pipeline-options.js';
import type { TuningOptions } from '../../../console/options/tuning-options.js';
import { count, duration, plural, rate } from '../../../console/output/format.js';
import type { CommandResult, Output } from '../../../console/output/output.js';
import { prepareKernels } from '../../../console/output/preparation.js';
import type { TelemetryOptions } from '../../../console/telemetry/options.js';
import { between, type DeviceStatus, Engine } from '../../../engine/index.js';
import { tunedStreams } from '../../../engine/tune/tuning-store.js';
import { MillraceError } from '../../../kernel/error.js';
import { checkWritable, isSameFile, readText, replaceFile } from '../files/disk.js';
import { formatOutput, nonceText, parseInput } from '../files/file.js';
import { BlocksCoverage } from '../job/blocks-coverage.js';
import { blocksJob, type LedgerNonce } from '../job/ledger-job.js';
import { expectedKernels, type NonceSolver, preparations } from '../job/solve.js';
import { type SolveAllOptions, type SolvedBlock, solveAll } from '../job/solve-all.js';
import { blockTunable } from '../job/tune.js';
import { type Block, targetFromBits } from '../kernel/reference.js';
import { NONCES } from '../kernel/scan.js';

export interface SolveOptions
  extends PipelineCommandOptions,
    DeviceCommandOptions,
    MonitorOptions,
    TuningOptions,
    TelemetryOptions,
    FleetOptions,
    JobSessionOptions {
  readonly device: string;
  readonly any?: boolean;
  readonly nonces?: { readonly from: number; readonly to: number };
  readonly jobs: number;
}

/** `millrace block solve` */
export async function solve(call: Call<SolveOptions>): Promise<CommandResult> {
  const [inName = '', outName = ''] = call.args;
  const blocks = parseInput(await readText(inName), inName);
  await checkWritable(outName);
  if (await isSameFile(inName, outName)) throw sameFileError(inName);
  const targets = blocks.map(({ bits }) => targetFromBits(bits));
  return isOnFleet(call) ? solveOnFleet(call, blocks, targets) : solveOnDevices(call, blocks, targets);
}

async function solveOnDevices(
  call: Call<SolveOptions>,
  blocks: readonly Block[],
  targets: readonly bigint[],
): Promise<CommandResult> {
  const [inName = '', outName = ''] = call.args;
  const { jobSpec, source } = blocksJob(blocks, call.options.nonces ?? {}, { inName, outName });
  // Opens while the devices open: neither waits for the other.
  const opening = openJobSession<LedgerNonce>(call, jobSpec, { isOptional: true });
  const openedSession = opening.catch(() => undefined);
  const setup: EngineSetup = {
    name: 'block solve',
    unit: 'H',
    expect: expectedKernels(targets),
    ledger: openedSession.then((session) => session?.store),
    make: async (devices, options) =>
      new Engine(devices, { perDevice: await tunedStreams(devices, blockTunable), ...options }),
  };
  try {
    return await withEngine(call, setup, async (opened) => {
      await prepareKernels(call.output, opened.engine, preparations(targets), call.signal);
      opened.startTelemetry();
      const session = await opening;
      const { ledger } = session;
      const { engine, devices, aim, close } = opened;
      return solveBlocks(call, blocks, targets, {
        solver: engine,
        session,
        search: { ...(aim && { aim }), ...(ledger && { source: (at) => source(ledger, at) }) },
        devices: () => engine.devices,
        controls: session.controls(engine, call),
        where: () => devices.map(({ info: { id, name } }) => `${id} (${name})`).join(' and '),
        resumeHint: ledger && `the same command resumes it (job ${ledger.id})`,
        close,
      });
    });
  } catch (error) {
    await (await openedSession)?.close(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Each block is a job of the fleet, in the ledger of its coordinator. */
async function solveOnFleet(
  call: Call<SolveOptions>,
  blocks: readonly Block[],
  targets: readonly bigint[],
): Promise<CommandResult> {
  const [{ withFleet }, { fleetSolver }] = await Promise.all([
    import('../../../console/fleet/jobs.js'),
    import('../job/fleet.js'),
  ]);
  const session = await openJobSession<LedgerNonce>(call, undefined);
  return withFleet(call, 'block solve', (jobs) =>
    solveBlocks(call, blocks, targets, {
      solver: fleetSolver(jobs),
      session,
      search: {},
      devices: () => [],
      controls: jobs.controls(call),
      where: () => plural(jobs.workers, 'worker'),
      resumeHint: 'the same command resumes it',
      close: async () => undefined,
    }),
  );
}

/** Where blocks are solved: devices of this machine, or a fleet. */
interface SolvingPlace {
  readonly solver: Engine | NonceSolver;
  readonly session: JobSession<LedgerNonce>;
  readonly search: Pick<SolveAllOptions, 'aim' | 'source'>;
  devices(): readonly DeviceStatus[];
  readonly controls: MonitorControls;
  where(): string;
  /** Undefined if nothing is stored. */
  readonly resumeHint: string | undefined;
  close(): Promise<void>;
}

async function solveBlocks(
  call: Call<SolveOptions>,
  blocks: readonly Block[],
  targets: readonly bigint[],
  place: SolvingPlace,
): Promise<CommandResult> {
  const { session } = place;
  const { output, options: opts, signal } = call;
  const [inName = '', outName = ''] = call.args;
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  let total = 0;
  let done = 0;
  /** Nonces tried of finished blocks. The rest of their nonces is not tried. */
  let triedOfDone = 0;
  const { from = 0, to = NONCES } = opts.nonces ?? {};
  const coverage = new BlocksCoverage(blocks.length, between(BigInt(from), BigInt(to)));
  const watched = {
    name: `block solve ${inName}`,
    unit: 'H',
    progress: () => ({ done: BigInt(total) }),
    devices: () => place.devices(),
    hits: () => done,
    strip: () => coverage.strip,
    notes: () => [{ label: 'blocks', text: `${done} of ${blocks.length}` }],
    left: () => Math.max(0, (blocks.length - done) * (to - from) - (total - triedOfDone)),
    ...chanceOf(targets),
  };
  const monitor = startMonitor(output, opts, watched, place.controls);
  session.listen(monitor);
  const solutions = await solveAll(place.solver, blocks, {
    mode: opts.any ? 'any' : 'first',
    jobs: opts.jobs,
    ...opts.nonces,
    ...place.search,
    signal,
    onSearch: (at, search) => coverage.started(at, search),
    onBlock: (block) => {
      coverage.ended(block.at);
      done += 1;
      triedOfDone += block.tried;
      reportBlock(output, block, blocks.length);
    },
    onProgress: (tried) => {
      total = tried;
    },
  })
    .catch((error: unknown) => {
      if (signal.aborted && place.resumeHint !== undefined) return undefined;
      throw error;
    })
    .finally(() => monitor.end());
  const seconds = elapsed();
  // Writes the answer first: closing a GPU takes another 0.1 s.
  if (solutions) await replaceFile(outName, formatOutput(solutions.map((solution) => solution?.nonce ?? 0)));
  await place.close();
  // Start-up is everything before the first search: the start of the process, devices, compilers.
  const figures = { blocks: blocks.length, tried: total, seconds, startup: start / 1000 };
  if (!solutions) return await reportStopped(call, place, { ...figures, solved: done });
  await session.end({ isComplete: false, isAnswered: true });
  const unsolved = solutions.filter((solution) => solution === null).length;
  const solved = plural(blocks.length - unsolved, 'block');
  output.say(`${solved} solved in ${duration(seconds)} on ${place.where()}, ${rate(total / seconds, 'H')}`);
  const exit = unsolved === 0 ? Exit.ok : Exit.no;
  return { exit, answer: { ...figures, unsolved } };
}

/** Ends without writing OUT, which is written only when complete. Solved blocks are in the ledger. */
async function reportStopped(
  { output, stopped: exit = Exit.stopped }: Call<SolveOptions>,
  { session, resumeHint }: SolvingPlace,
  answer: { readonly blocks: number; readonly solved: number },
): Promise<CommandResult> {
  await session.end({ isComplete: false, reason: 'stopped' });
  const id = session.ledger?.id;
  const hint = resumeHint === undefined ? '' : `; ${resumeHint}`;
  output.say(`stopped, ${answer.solved} of ${plural(answer.blocks, 'block')} solved${hint}`);
  return { exit, answer: { job: id, ...answer } };
}

/** The probability that a nonce is valid, if it is the same for all blocks. */
function chanceOf(targets: readonly bigint[]): { readonly chance?: number } {
  const [target = 0n] = targets;
  return new Set(targets).size === 1 ? { chance: Number(target) / 2 ** 256 } : {};
}

function reportBlock(output: Output, { at, solution, tried, seconds }: SolvedBlock, blocks: number): void {
  const which = `block ${String(at + 1).padStart(String(blocks).length)} of ${blocks}`;
  const done = { block: at + 1, blocks, tried, seconds };
  if (solution === null) {
    output.event('block', { ...done, nonce: null });
    const warning = output.stderrStyle.warn('warning:');
    output.say(`${warning} ${which} has no valid nonce (${count(tried)} tried); 00000000 stands in its place`);
    return;
  }
  const { nonce, hash } = solution;
  output.event('block', { ...done, nonce, written: nonceText(nonce), hash });
  output.say(
    `${which}  ${nonceText(nonce)}  ${output.stderrStyle.dim(`${count(tried)} tried in ${duration(seconds)}`)}`,
  );
}

const sameFileError = (name: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'IN and OUT are the same file',
    asked: `to read ${name} and to write the nonces to it`,
    advice: 'give OUT another name',
  });
