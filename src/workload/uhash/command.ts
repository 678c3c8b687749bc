import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { type EngineSetup, withEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import {
  type JobDescription,
  type JobSession,
  type JobSessionOptions,
  openJobSession,
  withJobSessionOptions,
} from '../../console/ledger/job-session.js';
import { type Monitor, type MonitorOptions, startMonitor, withMonitorOptions } from '../../console/monitor/monitor.js';
import { type DeviceCommandOptions, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { type PipelineCommandOptions, withPipelineOptions } from '../../console/options/pipeline-options.js';
import { type TuningOptions, withTuningOptions } from '../../console/options/tuning-options.js';
import { bytes, count, duration, plural, rate } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { withPreparationBar } from '../../console/output/preparation.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import type { Device } from '../../device/device.js';
import { Engine, type Range } from '../../engine/index.js';
import { uhashBench } from './bench.js';
import { inspectBytes } from './inspect.js';
import type { Challenge } from './job/flow.js';
import { hugePageStatus } from './job/huge-pages.js';
import { type LedgerProof, miningJob, proofSource } from './job/ledger-job.js';
import { createProver, minedNonces, NONCES, type Prover } from './job/prover.js';
import { IN_FLIGHT, type Plan } from './kernel/plan.js';
import { verify } from './kernel/reference.js';
import { backends, hex, parseHash, parseHexBytes, parseNonce, uhashOptions } from './options.js';

/** `millrace uhash …` */
export function uhashCommand(): Command {
  const uhash = new Command('uhash')
    .description('UniversalHash v4: find and check proofs of work')
    .addHelpText('after', signalsHelp);
  const proving = uhash
    .command('prove')
    .description('find the smallest nonce, from --start-nonce on, whose hash meets the difficulty')
    .addOption(uhashOptions.challenge().makeOptionMandatory())
    .addOption(uhashOptions.difficulty().makeOptionMandatory())
    .addOption(uhashOptions.startNonce())
    .addOption(
      valueOption('--max-attempts <n>', 'nonces to try; past 2^64 they begin at 0 again')
        .argParser(wholeNumberParser(1, Number.MAX_SAFE_INTEGER))
        .default(1_000_000),
    );
  withDevices(proving).action(action(prove));
  withExamples(proving, ['millrace uhash prove --challenge 00ff --difficulty 8']);
  const mining = uhash
    .command('mine')
    .description('find proofs, one after the other')
    .addOption(uhashOptions.challenge().makeOptionMandatory())
    .addOption(uhashOptions.difficulty().makeOptionMandatory())
    .addOption(uhashOptions.startNonce())
    .addOption(
      valueOption('--max-batches <n>', 'batches to try; 0: no limit')
        .argParser(wholeNumberParser(0, 2 ** 32))
        .default(0),
    )
    .addOption(flag('--stop-on-proof', 'end with the first proof'));
  withJobSessionOptions(withDevices(mining)).action(action(mine, { hasCheckpoints: true }));
  withExamples(mining, ['millrace uhash mine --challenge 00ff --difficulty 12 --json', 'an event for each proof']);
  const verifying = uhash
    .command('verify')
    .description('recompute a proof')
    .addOption(uhashOptions.challenge().makeOptionMandatory())
    .addOption(valueOption('--nonce <n>', "the proof's nonce").argParser(parseNonce).makeOptionMandatory())
    .addOption(valueOption('--hash <hex>', "the proof's hash").argParser(parseHash).makeOptionMandatory())
    .addOption(uhashOptions.difficulty())
    .action(action(check));
  const hash = '001bd776ee6e42848a903fa4ab03299705df31705d25fe1b2fe294204a6f1817';
  withExamples(verifying, [`millrace uhash verify --challenge 00ff --nonce 383 --hash ${hash} --difficulty 8`]);
  const inspecting = uhash
    .command('inspect')
    .description('interpret bytes as a hash and as an input')
    .argument('<hex>', 'bytes as hex', parseHexBytes)
    .action(action(inspect));
  withExamples(inspecting, ['millrace uhash inspect 00ff00ff']);
  uhash.addCommand(uhashBench('bench'));
  return uhash;
}

const signalsHelp = `
The signal USR2 pauses prove and mine, and the next one resumes them (kill -USR2 PID); so do the keys p and r.`;

function withDevices(command: Command): Command {
  const fed = withMonitorOptions(
    withTelemetryOptions(
      withDeviceOptions(
        withPipelineOptions(
          command
            .addOption(options.devices().default('auto', 'the best available'))
            .addOption(uhashOptions.backend())
            .addOption(
              valueOption(
                '--batch-size <n>',
                'nonces per batch, 2 MiB each (default: the best for the device)',
              ).argParser(wholeNumberParser(1, 2 ** 20)),
            ),
        ),
      ),
    ),
  );
  return withTuningOptions(fed);
}

interface DeviceOptions
  extends DeviceCommandOptions,
    PipelineCommandOptions,
    MonitorOptions,
    TelemetryOptions,
    TuningOptions {
  readonly device: string;
  readonly backend?: string;
  readonly batchSize?: number;
}

interface ProveOptions extends DeviceOptions {
  readonly challenge: Uint8Array;
  readonly difficulty: number;
  readonly startNonce: bigint;
  readonly maxAttempts: number;
}

async function prove(call: Call<ProveOptions>): Promise<CommandResult> {
  const { challenge: header, difficulty, startNonce: start, maxAttempts } = call.options;
  const challenge = { header, difficulty };
  const task: ProverTask = { challenge, wanted: 'first', length: BigInt(maxAttempts) };
  return runProver(call, task, async (prover, { elapsedSeconds }) => {
    const found = await findWrapped(prover, start, BigInt(maxAttempts), call.signal);
    const common = { challenge: hex(header), difficulty, attempts: found.hashes, elapsed_s: elapsedSeconds() };
    if (found.proof === undefined) {
      call.output.line(`no proof among ${count(maxAttempts)} nonces from ${start} on`);
      return { exit: Exit.no, answer: { ...common, nonce: null, hash: null } };
    }
    const proof = { nonce: found.proof.nonce, hash: hex(found.proof.hash) };
    call.output.line(`${proof.nonce}  ${proof.hash}`);
    return { exit: Exit.ok, answer: { ...common, ...proof } };
  });
}

/** Continues at 0 after the last nonce. */
async function findWrapped(prover: Prover, start: bigint, attempts: bigint, signal: AbortSignal) {
  const first = await prover.find({ start, count: attempts, signal });
  const left = start + attempts - NONCES;
  if (first.proof !== undefined || left <= 0n) return first;
  const second = await prover.find({ start: 0n, count: left, signal });
  return { ...second, hashes: first.hashes + second.hashes };
}

interface MineCommandOptions extends DeviceOptions, JobSessionOptions {
  readonly challenge: Uint8Array;
  readonly difficulty: number;
  readonly startNonce: bigint;
  readonly maxBatches: number;
  readonly stopOnProof?: boolean;
}

async function mine(call: Call<MineCommandOptions>): Promise<CommandResult> {
  const { challenge: header, difficulty, startNonce: start, maxBatches, stopOnProof = false } = call.options;
  const challenge = { header, difficulty };
  const countOf = ({ plans }: Prover): { readonly count?: bigint } => {
    const batch = BigInt(Math.max(...[...plans.values()].map((plan) => plan.batch)));
    return maxBatches === 0 ? {} : { count: BigInt(maxBatches) * batch };
  };
  const jobSpec = (prover: Prover) => miningJob(challenge, minedNonces(start, countOf(prover).count));
  return runProver(
    call,
    { challenge, wanted: 'all', jobSpec },
    async (prover, { elapsedSeconds, setProofCount, session }) => {
      const { ledger } = session;
      const before = prover.hashes;
      let proofs = 0;
      const answer = () => {
        const elapsed = elapsedSeconds();
        const total = prover.hashes - before;
        return { hashes_total: total, elapsed_s: elapsed, hashrate: Number(total) / elapsed };
      };
      const source = ledger && { source: (_: Challenge, space: Range) => proofSource(ledger, space) };
      try {
        for await (const proof of prover.mine({ start, ...countOf(prover), ...source, signal: call.signal })) {
          proofs += 1;
          setProofCount(proofs);
          call.output.event('proof_found', { nonce: proof.nonce, hash: hex(proof.hash), ...answer() });
          call.output.line(`${proof.nonce}  ${hex(proof.hash)}`);
          await session.notify({ index: proof.nonce, hash: hex(proof.hash) });
          if (stopOnProof) break;
        }
      } catch (error) {
        if (!call.signal.aborted) throw error;
      }
      const isAnswered = stopOnProof && proofs > 0;
      const isStopped = call.signal.aborted && !isAnswered;
      const reason = isStopped ? { reason: 'stopped' } : {};
      await session.end({ isComplete: !isStopped && !isAnswered, isAnswered, ...reason });
      if (isStopped && ledger) call.output.say(`stopped; the same command resumes it (job ${ledger.id})`);
      const exit = isStopped ? (call.stopped ?? Exit.stopped) : proofs > 0 ? Exit.ok : Exit.no;
      return { exit, answer: { proofs, ...answer() } };
    },
  );
}

/** The work for the devices. */
interface ProverTask {
  readonly challenge: Challenge;
  readonly wanted: 'first' | 'all';
  /** Number of nonces, if known. */
  readonly length?: bigint;
  /** The ledger job, described once the prover has its plans. */
  jobSpec?(prover: Prover): JobDescription | undefined;
}

interface ProverRun {
  elapsedSeconds(): number;
  setProofCount(proofs: number): void;
  readonly session: JobSession<LedgerProof>;
}

type ProverWork = (prover: Prover, run: ProverRun) => Promise<CommandResult>;

/** Opens devices and a prover, compiles and allocates, watches the work, and closes everything. */
function runProver(
  call: Call<DeviceOptions>,
  { challenge, wanted, length, jobSpec }: ProverTask,
  work: ProverWork,
): Promise<CommandResult> {
  const { output, options: opts } = call;
  const setup: EngineSetup = {
    name: 'uhash',
    unit: 'H',
    device: opts.backend === undefined ? opts.device : (backends[opts.backend] ?? opts.backend),
    make: (devices, options) => new Engine(devices, { ...IN_FLIGHT, ...options }),
  };
  return withEngine(call, setup, async ({ engine, devices, startTelemetry }) => {
    const prover = createProver(devices, {
      challenge,
      engine,
      ...(opts.batchSize !== undefined && { batch: opts.batchSize }),
      onPlan: (device, plan) => reportPlan(output, device, plan, opts.batchSize),
    });
    try {
      // Compile time is not part of a rate.
      await withPreparationBar(output, 'compiling', 1, () => prover.prepare(wanted), call.signal);
      startTelemetry();
      const session = await openJobSession<LedgerProof>(call, jobSpec?.(prover), { isOptional: true });
      const before = prover.hashes;
      const start = performance.now();
      let proofs = 0;
      const watched = {
        name: `uhash, ${plural(challenge.difficulty, 'bit')}`,
        unit: 'H',
        ...(length !== undefined && { length }),
        progress: () => ({ done: prover.hashes - before }),
        devices: () => engine.devices,
        hits: () => proofs,
        chance: 2 ** -challenge.difficulty,
      };
      const monitor = startMonitor(output, opts, watched, session.controls(engine, call));
      session.listen(monitor);
      const pausing = pauseBySignal(monitor);
      const result = await work(prover, {
        elapsedSeconds: () => (performance.now() - start) / 1000,
        setProofCount: (now) => {
          proofs = now;
        },
        session,
      }).finally(async () => {
        pausing.end();
        monitor.end();
        await session.close();
      });
      const seconds = (performance.now() - start) / 1000;
      const hashes = prover.hashes - before;
      output.say(
        output.stderrStyle.dim(
          `${count(hashes)} hashes in ${duration(seconds)}, ${rate(Number(hashes) / seconds, 'H')}`,
        ),
      );
      reportPages(output, devices);
      return result;
    } finally {
      await prover.close();
    }
  });
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

interface VerifyOptions {
  readonly challenge: Uint8Array;
  readonly nonce: bigint;
  readonly hash: Uint8Array;
  readonly difficulty?: number;
}

async function check({ output, options: opts }: Call<VerifyOptions>): Promise<CommandResult> {
  const { challenge, nonce, hash, difficulty } = opts;
  const found = verify(challenge, { nonce, hash }, difficulty ?? 0);
  const met = difficulty === undefined ? null : found.difficultyMet;
  const valid = found.hashMatches && met !== false;
  const { good, bad } = output.style;
  output.line(valid ? good('valid') : bad('invalid'));
  if (!found.hashMatches) output.line(`  the nonce's hash is ${hex(found.hash)}`);
  if (met === false) output.line(`  its hash does not have ${plural(difficulty ?? 0, 'leading zero bit')}`);
  const answer = { valid, hash_matches: found.hashMatches, difficulty_met: met };
  return { exit: valid ? Exit.ok : Exit.no, answer };
}

async function inspect({ output, args }: Call<object>): Promise<CommandResult> {
  const found = inspectBytes(args[0] as unknown as Uint8Array);
  for (const [name, value] of Object.entries(found)) output.line(`${name.padEnd(18)} ${value}`);
  return { exit: Exit.ok, answer: found };
}
