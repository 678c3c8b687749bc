import type { Indexed } from '../../engine/index.js';
import { shareOf } from '../../engine/work/space.js';
import { firstLine, MillraceError } from '../../kernel/error.js';
import {
  type Identity,
  type JobLedger,
  type JobRecord,
  type JobSpec,
  openStore,
  type Store,
} from '../../store/index.js';
import type { Call } from '../command/action.js';
import { host } from '../command/host.js';
import { age, duration, percent, plural } from '../output/format.js';
import type { Output } from '../output/output.js';
import { redactArguments } from '../output/redact.js';
import { isSecretOption } from '../output/secret-forms.js';
import type { JobDescription, JobSessionOptions } from './job-session.js';

/** A job that this command has claimed in the ledger. */
export interface OpenedJob<T extends Indexed> {
  readonly store: Store;
  readonly ledger: JobLedger<T>;
}

export async function openLedger<T extends Indexed>(
  { options: given, output }: Pick<Call<JobSessionOptions>, 'options' | 'output'>,
  { hasOutput, kernelName, hit, ...description }: JobDescription,
  isOptional: boolean,
): Promise<OpenedJob<T> | undefined> {
  const store = await openStore(given.dataDir, { warn: output.warn }).catch((error: unknown) => {
    if (!isOptional) throw error;
    output.warn(`this job is not stored: ${firstLine(error)}`);
  });
  if (!store) return undefined;
  try {
    const resumed = await findResumed(store, description);
    const spec: JobSpec = {
      ...description,
      call: {
        // Limits that `jobs resume` adds are for one run.
        ...(resumed?.call ?? {
          args: resumableArgs(host().args),
          folder: process.cwd(),
          environment: storedVariables(process.env),
        }),
        ...(kernelName !== undefined && { kernel: kernelName }),
        ...(hit && { hit: hit.map(({ name, type, array }) => ({ name, type, array })) }),
      },
      ...(given.priority !== undefined && { priority: given.priority }),
      ...(given.fresh !== undefined && { restart: given.fresh }),
    };
    const ledger = await store.open<T>(spec);
    if (ledger.completed.isEmpty || hasOutput === undefined || (await hasOutput(ledger.completed)))
      return { store, ledger };
    // The output of the finished work is missing, so the work does not count.
    await ledger.finish('open');
    return { store, ledger: await store.open<T>({ ...spec, restart: true }) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Reports the job. The returned function announces that it resumes, and is called once there is work for it. */
export function announceJob(output: Output, ledger: JobLedger<Indexed>): () => void {
  const { previous, id, job } = ledger;
  const { isResumed, done, hits, elapsedSeconds } = jobFields(ledger);
  output.event('job', jobFields(ledger));
  if (!isResumed || previous === undefined) return () => undefined;
  const share = percent(shareOf(done, job.space.length));
  return () => {
    const since = age(Date.now() - previous.lastActiveMs);
    const time = duration(elapsedSeconds);
    output.say(`job ${id} resumes where it stopped ${since} ago: ${share} done in ${time}, ${plural(hits, 'hit')}`);
  };
}

/** A job as an event. */
export function jobFields({ previous, id, job, completed, storedHits }: JobLedger<Indexed>, priority = job.priority) {
  const { name, space, elapsedMs } = job;
  const done = completed.total;
  const isResumed = previous !== undefined && previous.id === id && done > 0n;
  const hits = storedHits.length;
  return { id, name, isResumed, done, length: space.length, hits, elapsedSeconds: elapsedMs / 1000, priority };
}

/**
 * Returns the job that `jobs resume` requested; undefined if it did not start this command. Throws if it requested another:
 * a command that now describes a different one must not start that silently.
 */
async function findResumed(store: Store, description: Identity): Promise<JobRecord | undefined> {
  const resumedId = process.env[RESUMED_JOB_VARIABLE];
  if (resumedId === undefined) return undefined;
  const known = await store.findByIdentity(description);
  if (known?.id === resumedId) return known;
  throw new MillraceError({
    code: 'usage',
    message: `the command of job ${resumedId} describes another job now: its file, its parameters or Millrace changed`,
    asked: `to resume job ${resumedId}`,
    advice: 'restore the file, or run the command itself to start the new job',
  });
}

/** Set by `jobs resume` for the command it runs. */
export const RESUMED_JOB_VARIABLE = 'MILLRACE_RESUMED_JOB';

/** Returns the arguments that resume the job: without `--fresh` and without credentials. */
function resumableArgs(args: readonly string[]): string[] {
  return redactArguments(args.filter((arg) => arg !== '--fresh'));
}

/**
 * Returns the options given by environment variables, which are part of a call just as flags are. Credentials are
 * excluded.
 */
function storedVariables(environment: NodeJS.ProcessEnv): Record<string, string> {
  const known = Object.entries(environment).filter(([name, value]) => /^MILLRACE_/.test(name) && value !== undefined);
  const kept = known.filter(([name]) => !EXCLUDED_VARIABLES.test(name) && !isSecretOption(name)) as [string, string][];
  return Object.fromEntries(kept);
}

const EXCLUDED_VARIABLES = /^MILLRACE_(HOME|DATA_DIR|CACHE_DIR|FRESH|RESUMED_JOB|JSON|EVENTS|LONG)$/;
