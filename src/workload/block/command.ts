import { Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { type EngineSetup, type OpenedEngine, withEngine } from '../../console/command/engine.js';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import {
  type JobSession,
  type JobSessionOptions,
  openJobSession,
  withJobSessionOptions,
} from '../../console/ledger/job-session.js';
import { type MonitorOptions, startMonitor, withMonitorOptions } from '../../console/monitor/monitor.js';
import { type DeviceCommandOptions, withDeviceOptions } from '../../console/options/device-options.js';
import { flag, options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { type PipelineCommandOptions, withPipelineOptions } from '../../console/options/pipeline-options.js';
import { type TuningOptions, withTuningOptions } from '../../console/options/tuning-options.js';
import { count, duration, plural, rate } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { prepareKernels } from '../../console/output/preparation.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import { Engine } from '../../engine/index.js';
import { tunedStreams } from '../../engine/tune/tuning-store.js';
import { MillraceError } from '../../kernel/error.js';
import { checkWritable, isSameFile, readText, replaceFile } from './files/disk.js';
import { formatOutput, nonceText, parseInput, parseOutput } from './files/file.js';
import { type BlocksJob, blocksJob, type LedgerNonce } from './job/ledger-job.js';
import { expectedKernels, preparations } from './job/solve.js';
import { DEFAULT_JOBS, type SolvedBlock, solveAll } from './job/solve-all.js';
import { blockTunable } from './job/tune.js';
import { type Block, checkNonce, headerPrefix, targetFromBits, targetText } from './kernel/reference.js';
import { NONCES } from './kernel/scan.js';
import { addMineCommand } from './mining/command.js';

/** `millrace block …` */
export function blockCommand(): Command {
  const block = new Command('block')
    .description('Bitcoin block headers: find and check nonces, mine')
    .addHelpText('after', fileFormatHelp);
  const solving = block
    .command('solve')
    .description('find the smallest valid nonce of each block in IN, write them to OUT')
    .argument('<in>', 'blocks without their nonces')
    .argument('<out>', 'the nonces, in the same order')
    .addOption(options.devices().default('auto', 'the best available'))
    .addOption(flag('--any', 'accept any valid nonce, not only the smallest'))
    .addOption(valueOption('--nonces <from:to>', 'try only these nonces; TO is exclusive').argParser(nonceRange))
    .addOption(
      valueOption('--jobs <n>', 'blocks searched at a time').argParser(wholeNumberParser(1, 64)).default(DEFAULT_JOBS),
    );
  withTelemetryOptions(withTuningOptions(withMonitorOptions(withDeviceOptions(withPipelineOptions(solving)))));
  withJobSessionOptions(solving, { hits: false });
  solving.action(action(solve, { hasCheckpoints: true }));
  withExamples(solving, ['millrace block solve blocks.in nonces.out --device cuda:0,cpu']);
  const verifying = block
    .command('verify')
    .alias('check')
    .description('recompute each block of IN with the nonces of OUT; any valid nonce is correct')
    .argument('<in>', 'blocks without their nonces')
    .argument('<out>', 'the nonces, in the same order')
    .action(action(verify));
  withExamples(verifying, ['millrace block verify blocks.in nonces.out']);
  addMineCommand(block);
  return block;
}

interface SolveOptions
  extends PipelineCommandOptions,
    DeviceCommandOptions,
    MonitorOptions,
    TuningOptions,
    TelemetryOptions,
    JobSessionOptions {
  readonly device: string;
  readonly any?: boolean;
  readonly nonces?: { readonly from: number; readonly to: number };
  readonly jobs: number;
}

async function solve(call: Call<SolveOptions>): Promise<CommandResult> {
  const [inName = '', outName = ''] = call.args;
  const blocks = parseInput(await readText(inName), inName);
  await checkWritable(outName);
  if (await isSameFile(inName, outName)) throw sameFileError(inName);
  const { jobSpec, source } = blocksJob(blocks, call.options.nonces ?? {}, { inName, outName });
  // Opens while the devices open: neither waits for the other.
  const opening = openJobSession<LedgerNonce>(call, jobSpec, { isOptional: true });
  const openedSession = opening.catch(() => undefined);
  const targets = blocks.map(({ bits }) => targetFromBits(bits));
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
      return solveBlocks(call, blocks, targets, await opening, source, opened);
    });
  } catch (error) {
    await (await openedSession)?.close(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

async function solveBlocks(
  call: Call<SolveOptions>,
  blocks: readonly Block[],
  targets: readonly bigint[],
  session: JobSession<LedgerNonce>,
  source: BlocksJob['source'],
  { engine, devices, aim, close }: OpenedEngine,
): Promise<CommandResult> {
  const { output, options: opts, signal } = call;
  const [inName = '', outName = ''] = call.args;
  const start = performance.now();
  const elapsed = () => (performance.now() - start) / 1000;
  let total = 0;
  let done = 0;
  /** Nonces tried of finished blocks. The rest of their nonces is not tried. */
  let triedOfDone = 0;
  const { from = 0, to = NONCES } = opts.nonces ?? {};
  const watched = {
    name: `block solve ${inName}`,
    unit: 'H',
    progress: () => ({ done: BigInt(total) }),
    devices: () => engine.devices,
    hits: () => done,
    notes: () => [{ label: 'blocks', text: `${done} of ${blocks.length}` }],
    left: () => Math.max(0, (blocks.length - done) * (to - from) - (total - triedOfDone)),
    ...chanceOf(targets),
  };
  const monitor = startMonitor(output, opts, watched, session.controls(engine, call));
  session.listen(monitor);
  const { ledger } = session;
  const solutions = await solveAll(engine, blocks, {
    mode: opts.any ? 'any' : 'first',
    jobs: opts.jobs,
    ...opts.nonces,
    ...(aim && { aim }),
    ...(ledger && { source: (at) => source(ledger, at) }),
    signal,
    onBlock: (block) => {
      done += 1;
      triedOfDone += block.tried;
      reportBlock(output, block, blocks.length);
    },
    onProgress: (tried) => {
      total = tried;
    },
  })
    .catch((error: unknown) => {
      if (signal.aborted && ledger) return undefined;
      throw error;
    })
    .finally(() => monitor.end());
  const seconds = elapsed();
  // Writes the answer first: closing a GPU takes another 0.1 s.
  if (solutions) await replaceFile(outName, formatOutput(solutions.map((solution) => solution?.nonce ?? 0)));
  await close();
  // Start-up is everything before the first search: the start of the process, devices, compilers.
  const figures = { blocks: blocks.length, tried: total, seconds, startup: start / 1000 };
  if (!solutions) return await reportStopped(call, session, { ...figures, solved: done });
  await session.end({ isComplete: false, isAnswered: true });
  const unsolved = solutions.filter((solution) => solution === null).length;
  const solved = plural(blocks.length - unsolved, 'block');
  const where = devices.map(({ info: { id, name } }) => `${id} (${name})`).join(' and ');
  output.say(`${solved} solved in ${duration(seconds)} on ${where}, ${rate(total / seconds, 'H')}`);
  const exit = unsolved === 0 ? Exit.ok : Exit.no;
  return { exit, answer: { ...figures, unsolved } };
}

/** Ends without writing OUT, which is written only when complete. Solved blocks are in the ledger. */
async function reportStopped(
  { output, stopped: exit = Exit.stopped }: Call<SolveOptions>,
  session: JobSession<LedgerNonce>,
  answer: { readonly blocks: number; readonly solved: number },
): Promise<CommandResult> {
  await session.end({ isComplete: false, reason: 'stopped' });
  const id = session.ledger?.id;
  const resumeHint = id === undefined ? '' : `; the same command resumes it (job ${id})`;
  output.say(`stopped, ${answer.solved} of ${plural(answer.blocks, 'block')} solved${resumeHint}`);
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

async function verify({ output, args }: Call<object>): Promise<ExitCode> {
  const [inName = '', outName = ''] = args;
  const blocks = parseInput(await readText(inName), inName);
  const nonces = parseOutput(await readText(outName), outName);
  if (nonces.length !== blocks.length) {
    const message = `${inName} holds ${plural(blocks.length, 'block')}, ${outName} ${plural(nonces.length, 'nonce')}`;
    output.event('mismatch', { blocks: blocks.length, nonces: nonces.length });
    output.line(`${output.style.bad('wrong')}: ${message}`);
    return Exit.no;
  }
  let wrong = 0;
  for (const [at, block] of blocks.entries()) {
    const nonce = nonces[at] ?? 0;
    const target = targetFromBits(block.bits);
    const { valid, hash } = checkNonce(headerPrefix(block), target, nonce);
    if (!valid) wrong += 1;
    output.event('block', { block: at + 1, nonce, correct: valid, hash, target: targetText(target) });
    const { good, bad } = output.style;
    const why = valid ? '' : `\n  hash    ${hash}\n  target  ${targetText(target)}`;
    output.line(`block ${at + 1}: ${valid ? good('correct') : bad('wrong')}${why}`);
  }
  return wrong === 0 ? Exit.ok : Exit.no;
}

function nonceRange(text: string): { from: number; to: number } {
  const [from, to] = /^(\d{1,10}):(\d{1,10})$/.exec(text)?.slice(1).map(Number) ?? [];
  if (from === undefined || to === undefined || from > to || to > NONCES) {
    throw new InvalidArgumentError(`Expected FROM:TO, two whole numbers up to ${NONCES}.`);
  }
  return { from, to };
}

const sameFileError = (name: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'IN and OUT are the same file',
    asked: `to read ${name} and to write the nonces to it`,
    advice: 'give OUT another name',
  });

const fileFormatHelp = `
Files (text, LF or CRLF):
  IN   the number of blocks; then for each: version, previous hash, time, nbits, the number of
       transactions, the transactions' ids. Counts are decimal, everything else is hex as a
       block explorer shows it: 8 digits, 64 for hashes.
  OUT  the number of blocks; then one nonce a line: its four bytes as they stand in the header.
       00000000 where none is valid (also a nonce; the exit status 1 tells them apart).`;
