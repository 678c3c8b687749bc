import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Exit, type ExitCode } from '../../console/command/exit.js';
import { host } from '../../console/command/host.js';
import { RESUMED_JOB_VARIABLE } from '../../console/ledger/job-opening.js';
import type { MonitorOptions } from '../../console/monitor/monitor.js';
import type { CommandResult } from '../../console/output/output.js';
import { MillraceError } from '../../kernel/error.js';
import type { JobRecord, JobSummary } from '../../store/index.js';
import type { StoreCall, StoreOptions } from './command.js';
import { send, waitUntil } from './control.js';

/**
 * `millrace jobs resume`: a paused job resumes in the process that holds it; a job without a process is run by its own
 * command in its own folder, with the limits given here. Several jobs run one after the other; the first that fails determines the exit status.
 */
export async function resume({
  output,
  options,
  args,
  signal,
  store,
}: StoreCall<ResumeOptions>): Promise<CommandResult> {
  const given = (args as readonly (string | readonly string[])[]).flat();
  if (given.length === 0 && !options.all) throw noJobError();
  const open = async (): Promise<JobSummary[]> =>
    (await store.jobs()).filter(
      ({ job, isRunning }) => !isRunning && ['open', 'running', 'paused'].includes(job.state),
    );
  const jobs = options.all ? await open() : await Promise.all(given.map((id) => store.find(id)));
  for (const summary of jobs) {
    const { job, isRunning } = summary;
    if (signal.aborted) return Exit.stopped;
    if (isRunning) {
      await send(store, summary, 'resume');
      const isResumed = await waitUntil(store, job.id, ({ job: { state } }) => state === 'running');
      output.say(`job ${job.id}: ${isResumed ? 'resumed' : 'resume requested, no answer yet'}`);
      continue;
    }
    output.say(`job ${job.id}: millrace ${job.call.args.join(' ')}`);
    const exit = await run(job, options, signal);
    if (exit !== Exit.ok && exit !== Exit.no) return exit as ExitCode;
    if (!options.all && jobs.length === 1) return exit as ExitCode;
  }
  return Exit.ok;
}

interface ResumeOptions extends StoreOptions, MonitorOptions {
  readonly all?: boolean;
}

/** Returns the limits as the words of a command, which override those that the job was started with. */
function limitWords({ runtime, maxTemp, maxPower, maxCpu }: ResumeOptions): string[] {
  const limits = { runtime, 'max-temp': maxTemp, 'max-power': maxPower, 'max-cpu': maxCpu && maxCpu * 100 };
  return Object.entries(limits).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}

/** Runs the job's command in a child process. */
function run({ id, call }: JobRecord, options: ResumeOptions, signal: AbortSignal): Promise<number> {
  const { dataDir } = options;
  const main = fileURLToPath(new URL('../main.js', import.meta.url));
  if (call.args.length === 0) throw noCommandError(id);
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...call.args, ...limitWords(options)], {
      ...(call.folder !== '' && { cwd: call.folder }),
      env: { ...process.env, ...call.environment, MILLRACE_DATA_DIR: dataDir, [RESUMED_JOB_VARIABLE]: id },
      stdio: 'inherit',
    });
    // On a terminal, Ctrl-C reaches the child directly; a signal to this process does not.
    const stop = (): boolean => child.kill('SIGTERM');
    if (!host().stdin.isTTY) signal.addEventListener('abort', stop, { once: true });
    child.once('error', (cause) => reject(notStartedError(id, call.folder, cause)));
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve(code ?? Exit.aborted);
    });
  });
}

const noJobError = (): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'no job given',
    asked: 'jobs resume',
    advice: 'give an id (`millrace jobs list`), last, or --all',
  });

const noCommandError = (id: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `job ${id} has no command line: a program started it`,
    asked: `to resume job ${id}`,
    advice: 'run the program again with the same parameters: it finds the job',
  });

const notStartedError = (id: string, folder: string, cause: Error): MillraceError =>
  new MillraceError({
    code: 'io',
    message: `cannot start its command in ${folder}: ${cause.message}`,
    asked: `to resume job ${id}`,
    advice: 'go to the folder where its file is now and run the command there',
    cause,
  });
