import { Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { type EngineSetup, withEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import {
  type Booked,
  type Booking,
  type BookingOptions,
  openBooking,
  withBookingOptions,
} from '../../console/ledger/job-session.js';
import { type Monitor, type MonitorOptions, startMonitor, withMonitorOptions } from '../../console/monitor/monitor.js';
import { type OpeningOptions, withOpeningOptions } from '../../console/options/device-options.js';
import { flag, options, valued, wholeNumber } from '../../console/options/options.js';
import { type FeedingOptions, withFeedingOptions } from '../../console/options/pipeline-options.js';
import { type TuningOptions, withTuningOptions } from '../../console/options/tuning-options.js';
import { bytes, count, duration, plural, rate } from '../../console/output/format.js';
import type { Ending, Output } from '../../console/output/output.js';
import { preparing } from '../../console/output/preparation.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import type { Device } from '../../device/device.js';
import { Engine, type Range } from '../../engine/index.js';
import { uhashBench } from './bench.js';
import { backends, given, hashBytes, hex, hexBytes, nonce } from './given.js';
import { inspectBytes } from './inspect.js';
import { bookMining, type KeptProof, proofSource } from './job/book.js';
import type { Challenge } from './job/flow.js';
import { hugePageStatus } from './job/huge-pages.js';
import { createProver, minedNonces, NONCES, type Prover } from './job/prover.js';
import { IN_FLIGHT, type Plan } from './kernel/plan.js';
import { verify } from './kernel/reference.js';

/** `millrace uhash …` */
export function uhashCommand(): Command {
  const uhash = new Command('uhash')
    .description('UniversalHash v4: find and check proofs of work')
    .addHelpText('after', signals);
  const proving = uhash
    .command('prove')
    .description('find the smallest nonce from a start on whose hash meets the difficulty')
    .addOption(given.challenge().makeOptionMandatory())
    .addOption(given.difficulty().makeOptionMandatory())
    .addOption(given.startNonce())
    .addOption(
      valued('--max-attempts <n>', 'nonces to try; past 2^64 they begin at 0 again')
        .argParser(wholeNumber(1, Number.MAX_SAFE_INTEGER))
        .default(1_000_000),
    );
  withDevices(proving).action(action(prove));
  withExamples(proving, ['millrace uhash prove --challenge 00ff --difficulty 8']);
  const mining = uhash
    .command('mine')
    .description('find proofs, one after the other')
    .addOption(given.challenge().makeOptionMandatory())
    .addOption(given.difficulty().makeOptionMandatory())
    .addOption(given.startNonce())
    .addOption(
      valued('--max-batches <n>', 'batches to try, 0: without end')
        .argParser(wholeNumber(0, 2 ** 32))
        .default(0),
    )
    .addOption(flag('--stop-on-proof', 'end with the first proof'));
  withBookingOptions(withDevices(mining)).action(action(mine, { hasCheckpoints: true }));
  withExamples(mining, ['millrace uhash mine --challenge 00ff --difficulty 12 --json', 'an event for each proof']);
  const verifying = uhash
    .command('verify')
    .description('recompute a proof')
    .addOption(given.challenge().makeOptionMandatory())
    .addOption(valued('--nonce <n>', "the proof's nonce").argParser(nonce).makeOptionMandatory())
    .addOption(valued('--hash <hex>', "the proof's hash").argParser(hashBytes).makeOptionMandatory())
    .addOption(given.difficulty())
    .action(action(check));
  const hash = '001bd776ee6e42848a903fa4ab03299705df31705d25fe1b2fe294204a6f1817';
  withExamples(verifying, [`millrace uhash verify --challenge 00ff --nonce 383 --hash ${hash} --difficulty 8`]);
  const inspecting = uhash
    .command('inspect')
    .description('what bytes are as a hash, and as an input')
    .argument('<hex>', 'bytes as hex', hexBytes)
    .action(action(inspect));
  withExamples(inspecting, ['millrace uhash inspect 00ff00ff']);
  uhash.addCommand(uhashBench('bench'));
  return uhash;
}

const signals = `
The signal USR2 pauses prove and mine, and the next one resumes them (kill -USR2 PID); so do the keys p and r.`;

function withDevices(command: Command): Command {
  const fed = withMonitorOptions(
    withTelemetryOptions(
      withOpeningOptions(
        withFeedingOptions(
          command
            .addOption(options.devices().default('auto', 'the best there is'))
            .addOption(given.backend())
            .addOption(
              valued('--batch-size <n>', 'nonces of a batch, 2 MiB each (default: what suits the device)').argParser(
                wholeNumber(1, 2 ** 20),
              ),
            ),
        ),
      ),
    ),
  );
  return withTuningOptions(fed);
}

interface DeviceOptions extends OpeningOptions, FeedingOptions, MonitorOptions, TelemetryOptions, TuningOptions {
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

async function prove(call: Call<ProveOptions>): Promise<Ending> {
  const { challenge: header, difficulty, startNonce: start, maxAttempts } = call.options;
  const challenge = { header, difficulty };
  const asked: Asked = { challenge, wanted: 'first', length: BigInt(maxAttempts) };
  return proving(call, asked, async (prover, { seconds }) => {
    const found = await findWrapped(prover, start, BigInt(maxAttempts), call.signal);
    const common = { challenge: hex(header), difficulty, attempts: found.hashes, elapsed_s: seconds() };
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

interface MineOptions extends DeviceOptions, BookingOptions {
  readonly challenge: Uint8Array;
  readonly difficulty: number;
  readonly startNonce: bigint;
  readonly maxBatches: number;
  readonly stopOnProof?: boolean;
}

async function mine(call: Call<MineOptions>): Promise<Ending> {
  const { challenge: header, difficulty, startNonce: start, maxBatches, stopOnProof = false } = call.options;
  const challenge = { header, difficulty };
  const countOf = ({ plans }: Prover): { readonly count?: bigint } => {
    const batch = BigInt(Math.max(...[...plans.values()].map((plan) => plan.batch)));
    return maxBatches === 0 ? {} : { count: BigInt(maxBatches) * batch };
  };
  const book = (prover: Prover) => bookMining(challenge, minedNonces(start, countOf(prover).count));
  return proving(call, { challenge, wanted: 'all', book }, async (prover, { seconds, found, booking }) => {
    const { ledger } = booking;
    const before = prover.hashes;
    let proofs = 0;
    const answer = () => {
      const elapsed = seconds();
      const total = prover.hashes - before;
      return { hashes_total: total, elapsed_s: elapsed, hashrate: Number(total) / elapsed };
    };
    const source = ledger && { source: (_: Challenge, space: Range) => proofSource(ledger, space) };
    try {
      for await (const proof of prover.mine({ start, ...countOf(prover), ...source, signal: call.signal })) {
        proofs += 1;
        found(proofs);
        call.output.event('proof_found', { nonce: proof.nonce, hash: hex(proof.hash), ...answer() });
        call.output.line(`${proof.nonce}  ${hex(proof.hash)}`);
        await booking.told({ index: proof.nonce, hash: hex(proof.hash) });
        if (stopOnProof) break;
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
    const isAnswered = stopOnProof && proofs > 0;
    const isStopped = call.signal.aborted && !isAnswered;
    const reason = isStopped ? { reason: 'stopped' } : {};
    await booking.end({ isComplete: !isStopped && !isAnswered, isAnswered, ...reason });
    if (isStopped && ledger) call.output.say(`stopped; the same command goes on from here (job ${ledger.id})`);
    const exit = isStopped ? (call.stopped ?? Exit.stopped) : proofs > 0 ? Exit.ok : Exit.no;
    return { exit, answer: { proofs, ...answer() } };
  });
}

/** The work for the devices. */
interface Asked {
  readonly challenge: Challenge;
  readonly wanted: 'first' | 'all';
  /** Number of nonces, if known. */
  readonly length?: bigint;
  /** The ledger job, described once the prover has its plans. */
  book?(prover: Prover): Booked | undefined;
}

interface Told {
  seconds(): number;
  found(proofs: number): void;
  readonly booking: Booking<KeptProof>;
}

type ProverWork = (prover: Prover, told: Told) => Promise<Ending>;

/** Opens devices and a prover, compiles and allocates, watches the work, and closes everything. */
function proving(
  call: Call<DeviceOptions>,
  { challenge, wanted, length, book }: Asked,
  work: ProverWork,
): Promise<Ending> {
  const { output, options: asked } = call;
  const setup: EngineSetup = {
    name: 'uhash',
    unit: 'H',
    device: asked.backend === undefined ? asked.device : (backends[asked.backend] ?? asked.backend),
    make: (devices, options) => new Engine(devices, { ...IN_FLIGHT, ...options }),
  };
  return withEngine(call, setup, async ({ engine, devices, watch }) => {
    const prover = createProver(devices, {
      challenge,
      engine,
      ...(asked.batchSize !== undefined && { batch: asked.batchSize }),
      onPlan: (device, plan) => tellPlan(output, device, plan, asked.batchSize),
    });
    try {
      // Compile time is not part of a rate.
      await preparing(output, 'compiling', 1, () => prover.prepare(wanted), call.signal);
      watch();
      const booking = await openBooking<KeptProof>(call, book?.(prover), { isOptional: true });
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
      const monitor = startMonitor(output, asked, watched, booking.controls(engine, call));
      booking.listen(monitor);
      const pausing = pauseBySignal(monitor);
      const ending = await work(prover, {
        seconds: () => (performance.now() - start) / 1000,
        found: (now) => {
          proofs = now;
        },
        booking,
      }).finally(async () => {
        pausing.end();
        monitor.end();
        await booking.close();
      });
      const seconds = (performance.now() - start) / 1000;
      const hashes = prover.hashes - before;
      output.say(
        output.aside.dim(`${count(hashes)} hashes in ${duration(seconds)}, ${rate(Number(hashes) / seconds, 'H')}`),
      );
      tellPages(output, devices);
      return ending;
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
  if (process.platform === 'win32') return { end: () => undefined };
  process.on('SIGUSR2', toggle);
  return { end: () => void process.off('SIGUSR2', toggle) };
}

function tellPlan(output: Output, { info }: Device, plan: Plan, asked: number | undefined): void {
  const { batch, chainsPerItem, copies, tables, pads, launches } = plan;
  output.event('plan', { device: info.id, batch, chainsPerItem, copies, tables, pads, launches });
  output.explain(`${info.id}: batches of ${count(batch)} nonces, ${bytes(batch * 2 ** 21)} each`);
  if (asked !== undefined && batch < asked)
    output.warn(`${info.id} has no memory for batches of ${count(asked)}: ${count(batch)} it is`);
}

function tellPages(output: Output, devices: readonly Device[]): void {
  const status = devices.some(({ info }) => info.kind === 'native') ? hugePageStatus() : undefined;
  if (status === undefined) return;
  output.event('pages', { status });
  output.say(output.aside.dim(`scratchpads: ${status}`));
}

interface VerifyOptions {
  readonly challenge: Uint8Array;
  readonly nonce: bigint;
  readonly hash: Uint8Array;
  readonly difficulty?: number;
}

async function check({ output, options: asked }: Call<VerifyOptions>): Promise<Ending> {
  const { challenge, nonce: claimed, hash, difficulty } = asked;
  const found = verify(challenge, { nonce: claimed, hash }, difficulty ?? 0);
  const met = difficulty === undefined ? null : found.difficultyMet;
  const valid = found.hashMatches && met !== false;
  const { good, bad } = output.style;
  output.line(valid ? good('valid') : bad('invalid'));
  if (!found.hashMatches) output.line(`  the hash is ${hex(found.hash)}`);
  if (met === false) output.line(`  it does not have ${plural(difficulty ?? 0, 'leading zero bit')}`);
  const answer = { valid, hash_matches: found.hashMatches, difficulty_met: met };
  return { exit: valid ? Exit.ok : Exit.no, answer };
}

async function inspect({ output, args }: Call<object>): Promise<Ending> {
  const found = inspectBytes(args[0] as unknown as Uint8Array);
  for (const [name, value] of Object.entries(found)) output.line(`${name.padEnd(18)} ${value}`);
  return { exit: Exit.ok, answer: found };
}
