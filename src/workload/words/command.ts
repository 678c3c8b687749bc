import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { type EngineSetup, type OpenedEngine, withLazyEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import { host } from '../../console/command/host.js';
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
import { count, duration, rate } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import { unlessAborted } from '../../device/timeout.js';
import { between, type Engine, endOf, type Indexed, Intervals } from '../../engine/index.js';
import { exportTargets } from '../../export/request.js';
import { writeFiles } from '../../export/write.js';
import { MillraceError } from '../../kernel/error.js';
import { ledgerJobFor, ProgressRecorder, progressIn } from './files/progress.js';
import { digestSink, fileSink, isStdoutPipe, type Sink, stdoutSink } from './files/sink.js';
import type { WordOptions } from './generator/batches.js';
import { kernelOn } from './generator/flow.js';
import { type WriteProgress, writeWords } from './generator/write-words.js';
import { exportedWords } from './library/exported.js';
import { layoutNames } from './space/layout.js';
import { MAX_WORD_BYTES } from './space/mask.js';
import { orders } from './space/order.js';
import { parseRequest, parseWord, type RequestOptions, type WordRequest } from './space/request.js';
import { isRegular } from './space/words.js';

/** `millrace words` */
export function wordsCommand(): Command {
  const command = new Command('words')
    .description('write every word of a mask, in order, to standard output')
    .argument('[mask]', 'literals, ?l ?u ?d ?s ?a ?b ?h ?H, charsets ?1 to ?9, ?? for a question mark');
  for (let number = 1; number <= 9; number++) {
    const more = number === 1 ? ': characters, ?l and the like, or a file NAME.hcchr' : '';
    command.addOption(valueOption(`-${number}, --charset${number} <text>`, `charset ?${number}${more}`));
  }
  command
    .addOption(flag('--hex-charset', 'charsets and literals are pairs of hexadecimal digits'))
    .addOption(flag('--utf8', 'read UTF-8 characters, not bytes'))
    .addOption(flag('--sort-charsets', 'sort each charset in ascending order'))
    .addOption(
      valueOption(
        '--order <order>',
        'which position changes fastest: the last, or as in hashcat the first, with sorted charsets',
      )
        .choices(orders)
        .default('canonical'),
    )
    .addOption(
      valueOption('--max-run <n>', 'exclude words with a character more than n times in a row').argParser(
        wholeNumberParser(1, MAX_WORD_BYTES),
      ),
    )
    .addOption(
      valueOption('--max-occurrence <n>', 'exclude words with a character more than n times').argParser(
        wholeNumberParser(1, MAX_WORD_BYTES),
      ),
    )
    .addOption(
      valueOption('--increment <min:max>', 'prefixes of the mask, of min to max positions').argParser(parseLengths),
    )
    .addOption(valueOption('--mask-file <file>', 'read masks from a .hcmask file'))
    .addOption(valueOption('--skip <n>', 'start at this index').argParser(parseBigint))
    .addOption(new Option('--start-index <n>', 'the same as --skip').argParser(parseBigint).hideHelp())
    .addOption(valueOption('--limit <n>', 'write at most n words').argParser(parseBigint))
    .addOption(valueOption('--start-word <word>', 'start at this word'))
    .addOption(valueOption('--stop-word <word>', 'stop after this word'))
    .addOption(valueOption('--format <layout>', 'separator after each word').choices(layoutNames).default('newline'))
    .addOption(valueOption('-o, --output <file>', 'write to a file'))
    .addOption(flag('--keyspace', 'only print the number of words'))
    .addOption(valueOption('--index-of <word>', 'only print the index of a word'))
    .addOption(flag('--digest', 'only print the SHA-256 of the output'))
    .addOption(valueOption('--emit-c <dir>', 'the same as `millrace export words --out <dir>`: words as a C library'))
    .addOption(options.devices())
    .addOption(flag('--async', 'several chunks at a time on each device (default)'))
    .addOption(flag('--sync', 'one chunk at a time'));
  withTuningOptions(withTelemetryOptions(withMonitorOptions(withDeviceOptions(withPipelineOptions(command)))));
  withJobSessionOptions(command, { hits: false });
  command.action(action(words, { isData: true, hasCheckpoints: ({ output }) => output !== undefined }));
  return withExamples(
    command,
    ["millrace words '?u?l?l?l?d?d'", '45,697,600 words, one per line'],
    ["millrace words -1 '?l?d' '?1?1?1?1' --skip 1000 --limit 10", 'ten words from index 1000 on'],
    ["millrace words '?a?a?a?a?a?a?a?a' --keyspace", 'the number of words'],
    ["millrace words '?d?d?d?d?d?d' --max-run 1 -o pins", 'without a digit twice in a row'],
  );
}

interface WordsOptions
  extends PipelineCommandOptions,
    DeviceCommandOptions,
    MonitorOptions,
    TuningOptions,
    TelemetryOptions,
    JobSessionOptions {
  readonly device?: string;
  readonly output?: string;
  readonly keyspace?: boolean;
  readonly indexOf?: string;
  readonly digest?: boolean;
  readonly emitC?: string;
  readonly async?: boolean;
  readonly sync?: boolean;
  readonly startIndex?: bigint;
}

/** The same as `millrace export words --out DIR`. */
async function exportWords(folder: string): Promise<string[]> {
  const { exportC } = await import('../../export/c.js');
  return writeFiles(folder, exportC({ kernel: exportedWords(), name: 'words', targets: exportTargets }));
}

async function words(call: Call<WordsOptions & RequestOptions>): Promise<CommandResult> {
  const { output, options: opts, args } = call;
  if (opts.emitC !== undefined) {
    const files = await exportWords(opts.emitC);
    for (const file of files) output.line(file);
    return { exit: Exit.ok, answer: { files } };
  }
  const { skip = opts.startIndex } = opts;
  const request = parseRequest(args[0], { ...opts, ...(skip !== undefined && { skip }) });
  for (const warning of request.warnings) output.warn(warning);
  if (opts.keyspace) {
    output.line(String(request.space.size));
    return { exit: Exit.ok, answer: { keyspace: request.space.size } };
  }
  if (opts.indexOf !== undefined) {
    const index = request.space.indexOf(parseWord(opts.indexOf));
    if (index === undefined) output.say('the word is not in the keyspace');
    else output.line(String(index));
    return { exit: index === undefined ? Exit.no : Exit.ok, answer: { index: index ?? null } };
  }
  const session = await openJobSession(call, ledgerJobOf(call, request), { isOptional: true });
  try {
    const setup: EngineSetup = {
      name: 'words',
      unit: 'words',
      feeding: pipelineOf(opts),
      ledger: Promise.resolve(session.store),
      ...pipeSetup(opts),
    };
    return await withLazyEngine(call, setup, (open) => generate(call, request, session, open));
  } catch (error) {
    await session.close(error instanceof Error ? error.message : String(error));
    throw error;
  }
}

/** Returns a ledger job if the words go to a file. Words written elsewhere cannot be resumed. */
function ledgerJobOf(
  { options: opts, args }: Call<WordsOptions & RequestOptions>,
  request: WordRequest,
): JobDescription | undefined {
  const { output: file, maxRun, maxOccurrence, digest } = opts;
  if (digest || file === undefined) return undefined;
  return ledgerJobFor(request, file, { mask: args[0] ?? opts.maskFile, maxRun, maxOccurrence });
}

async function generate(
  call: Call<WordsOptions>,
  request: WordRequest,
  session: JobSession<Indexed>,
  open: () => Promise<OpenedEngine>,
): Promise<CommandResult> {
  const { output, options: opts, signal } = call;
  const { space, layout } = request;
  const before = progressIn(request, session.completed);
  const range = between(request.range.start + before.words, endOf(request.range));
  let engine: Engine | undefined;
  let monitor: Monitor | undefined;
  const openEngine = async (): Promise<Engine> => {
    if (engine) return engine;
    const opened = await open();
    const { devices } = opened;
    engine = opened.engine;
    monitor?.devicesOpened();
    session.ledger?.setDevices(devices.map(({ info }) => info.id));
    opened.startTelemetry();
    for (const device of devices) await unlessAborted(engine.prepare(kernelOn(device).kernel), signal);
    return engine;
  };
  const wordOptions: WordOptions = {
    layout,
    signal,
    whenRunning: () => monitor?.whenRunning(),
    engine: openEngine,
    // A device that the user names is used even for little work.
    minDeviceBytes: opts.device === undefined ? undefined : 0,
  };
  // Reports a missing or unusable device before the first byte is written.
  if (opts.device !== undefined) {
    await openEngine();
    if (space.segments.some((segment) => !isRegular(segment.words))) {
      output.warn('filtered words and words of several lengths are made by the host, not by the device');
    }
  }
  const digest = opts.digest ? digestSink() : undefined;
  const sink: Sink =
    digest ?? (opts.output === undefined ? stdoutSink(host().stdout) : fileSink(opts.output, before.bytes));
  const progress: WriteProgress = { next: range.start, bytes: before.bytes, isClosed: false };
  const written = session.ledger && new ProgressRecorder(session.ledger, sink, before.words);
  const begun = performance.now();
  const watched = {
    name: 'words',
    unit: 'words',
    length: request.range.length,
    before: before.words,
    start: request.range.start,
    progress: () => ({ done: progress.next - range.start }),
    coverage: () => ({
      done: Intervals.of([between(request.range.start, progress.next)]),
      onDevice: Intervals.none,
      redone: Intervals.none,
    }),
    devices: () => engine?.devices ?? [],
    hits: () => 0,
  };
  monitor = startMonitor(
    output,
    opts,
    watched,
    session.controls(() => engine, call),
  );
  session.listen(monitor);
  const counted = (): bigint => progress.next - request.range.start;
  try {
    await writeWords(space, range, wordOptions, sink, progress, () => written?.onWritten(counted()));
    await written?.end(counted(), true);
    if (!progress.isClosed) await sink.close();
    await session.end({ isComplete: true });
    const seconds = (performance.now() - begun) / 1000;
    monitor.end();
    if (digest) {
      const sha256 = digest.digest();
      output.line(sha256);
      return { exit: Exit.ok, answer: { ...answerOf(progress, request.range.start), sha256 } };
    }
    output.explain(summaryLine(progress.next - range.start, progress.bytes - before.bytes, seconds));
    return { exit: Exit.ok, answer: answerOf(progress, request.range.start) };
  } catch (error) {
    monitor.end();
    await written?.end(counted(), false).catch(() => undefined); // words that were not recorded are made again
    if (!signal.aborted) throw error;
    await session.end({ isComplete: false, reason: 'stopped' });
    const how = session.ledger ? `the same command (job ${session.ledger.id})` : `--skip ${progress.next}`;
    output.say(`stopped; the next word has index ${progress.next}; resume with ${how}`);
    return { exit: call.stopped ?? Exit.stopped, answer: answerOf(progress, request.range.start) };
  } finally {
    monitor.end();
  }
}

/**
 * A CPU fills a pipe by itself, and starts sooner than a GPU. The reader of the pipe needs a processor too, and two
 * threads saturate a pipe: on two processors 1.6 GB/s with one thread, 1.4 with two.
 */
function pipeSetup({ output: file, digest }: WordsOptions): Pick<EngineSetup, 'threads' | 'processor'> {
  if (file !== undefined || digest || !isStdoutPipe(host().stdout)) return {};
  return { threads: Math.min(2, Math.max(1, availableParallelism() - 1)), processor: 'cpu' };
}

const answerOf = ({ next, bytes }: WriteProgress, start: bigint) => ({ words: next - start, next, bytes });

const summaryLine = (words: bigint, bytes: bigint, seconds: number): string =>
  `${count(words)} words in ${duration(seconds)}, ${rate(Number(bytes) / seconds, 'B')}`;

/** `--sync` and `--async` are the pipelines of those names. */
function pipelineOf({ async, sync, ...opts }: WordsOptions): PipelineCommandOptions {
  if (!async && !sync) return opts;
  if (!(async && sync) && opts.pipeline === undefined) return { ...opts, pipeline: sync ? 'sync' : 'poll' };
  throw new MillraceError({
    code: 'usage',
    message: 'several pipelines were chosen',
    asked: [async && '--async', sync && '--sync', opts.pipeline && `--pipeline ${opts.pipeline}`]
      .filter(Boolean)
      .join(' and '),
    advice: 'give one of them',
  });
}

function parseLengths(text: string): { min: number; max: number } {
  const [, first, second] = /^(\d{1,3})(?::(\d{1,3}))?$/.exec(text) ?? [];
  const [min, max] = [Number(first), Number(second ?? first)];
  if (!(min >= 1 && min <= max)) throw new InvalidArgumentError('Expected MIN:MAX, with MIN from 1 to MAX.');
  return { min, max };
}

function parseBigint(text: string): bigint {
  if (/^(\d+|0x[0-9a-fA-F]+)$/.test(text)) return BigInt(text);
  const [, base, power] = /^(\d{1,9})\^(\d{1,4})$/.exec(text) ?? [];
  if (base !== undefined && power !== undefined) return BigInt(base) ** BigInt(power);
  throw new InvalidArgumentError('Expected a whole number such as 1000, 0x3e8 or 2^64.');
}
