import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { InvalidArgumentError } from 'commander';
import type { Call } from '../../console/command/action.js';
import { type EngineCommandOptions, withEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import { percent } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { inviteFor } from '../../fleet/local.js';
import { Bus, isInvite } from '../../fleet/nats/index.js';
import { WorkerService } from '../../fleet/worker/index.js';
import { MillraceError } from '../../kernel/error.js';
import { workloads } from './workloads.js';

export interface JoinOptions extends EngineCommandOptions {
  readonly dataDir: string;
  readonly name?: string;
  readonly fleet?: string | boolean;
  readonly only?: readonly string[];
}

/** Works for a fleet until it is stopped or drained. */
export async function join(call: Call<JoinOptions>): Promise<CommandResult> {
  const { output, options: given, args, signal } = call;
  const invite = inviteFor(args[0] ?? given.fleet, given.dataDir);
  if (isInvite(args[0] ?? ''))
    output.warn('other users of this machine can read an invite on a command line: give a file, or set MILLRACE_FLEET');
  registerSecret(invite.seed);
  const name = checkName(given.name ?? hostname().replace(/[^\w]/g, '_').slice(0, MAX_NAME));
  const bus = await Bus.connect(invite, `millrace worker ${name}`);
  try {
    return await withEngine(call, { name: 'fleet join', unit: '' }, async ({ engine, devices }) => {
      // Another id for each process: messages to an earlier one are not for this one.
      const id = `${name}-${randomBytes(6).toString('hex')}`;
      const { say, warn } = output;
      const { only } = given;
      const worker = new WorkerService({ bus, engine, id, workloads, say, warn, ...(only && { only }) });
      say(`${name} works for the fleet ${invite.fleet} on ${devices.map(({ info }) => info.id).join(', ')}`);
      const stop = (): void => worker.leave('stopped');
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      try {
        const why = await Promise.race([leaving(worker, signal), bus.ended]);
        if (why) throw why;
      } finally {
        signal.removeEventListener('abort', stop);
        await bus.flush();
        await worker.close();
      }
      if (worker.unconfirmed > 0) output.warn(`${worker.unconfirmed} results were not confirmed; others do them again`);
      if (!signal.aborted) say('drained');
      const { fed } = worker;
      if (fed !== undefined) say(`devices were busy for ${percent(fed)} of the time in which there was work`);
      const answer = { worker: id, ...(fed !== undefined && { fed }) };
      return { exit: signal.aborted ? (call.stopped ?? Exit.stopped) : Exit.ok, answer };
    });
  } finally {
    await bus.close();
  }
}

/** Resolves when the worker has left. If its results are not confirmed, it leaves some seconds after it was told to. */
async function leaving(worker: WorkerService, signal: AbortSignal): Promise<undefined> {
  const limit = new Promise<void>((resolve) => {
    const start = (): void => void setTimeout(resolve, LEAVE_MS).unref();
    if (signal.aborted) start();
    else signal.addEventListener('abort', start, { once: true });
  });
  await Promise.race([worker.left, limit]);
  return undefined;
}

/** Parses the list of `--only`. */
export function parseOnly(text: string): readonly string[] {
  const known = [...workloads.map(({ name }) => name), KERNELS];
  const names = text.split(',').map((name) => name.trim());
  if (names.every((name) => known.includes(name))) return names.map((name) => (name === KERNELS ? 'kernel' : name));
  throw new InvalidArgumentError(`Expected a list of ${known.join(', ')}.`);
}

/** Jobs of `run`. */
const KERNELS = 'run';

function checkName(name: string): string {
  if (/^\w{1,40}$/.test(name)) return name;
  throw new MillraceError({
    code: 'usage',
    message: `${JSON.stringify(name)} is not a name of a worker: expected 1 to ${MAX_NAME} letters, digits and _`,
    asked: `--name ${name}`,
    advice: 'give another name',
  });
}

const MAX_NAME = 40;
const LEAVE_MS = 5_000;
