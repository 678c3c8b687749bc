import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { FleetHost } from '../../fleet/coordinator/index.js';
import { fleetFolder, removeInvite, saveInvite } from '../../fleet/local.js';
import { MillraceError } from '../../kernel/error.js';
import { openStore } from '../../store/index.js';
import { workloads } from './workloads.js';

export interface ServeOptions {
  readonly dataDir: string;
  readonly nats?: string;
  readonly token?: string;
}

/** Coordinates a fleet until it is stopped. */
export async function serve(call: Call<ServeOptions>): Promise<CommandResult> {
  const { output, options: given, signal } = call;
  if (given.nats !== undefined) checkLoopback(given.nats);
  const store = await openStore(given.dataDir, { warn: output.warn });
  if (!(await store.hold('fleet'))) {
    await store.close();
    throw servedAlready(given.dataDir);
  }
  const { say, warn } = output;
  let fleet: FleetHost | undefined;
  try {
    const { nats, token } = given;
    fleet = await FleetHost.start({ folder: fleetFolder(given.dataDir), store, workloads, nats, token, say, warn });
    registerSecret(fleet.invite.seed);
    saveInvite(given.dataDir, fleet.invite);
    announce(output, fleet);
    await Promise.race([aborted(signal), fleet.failed]);
    return { exit: call.stopped ?? Exit.stopped, answer: { fleet: fleet.invite.fleet } };
  } finally {
    removeInvite(given.dataDir);
    await fleet?.close();
    await store.close();
  }
}

function announce(output: Output, { bus, invite: { url, fleet } }: FleetHost): void {
  output.say(`fleet ${fleet} at ${url} (nats-server ${bus.serverVersion})`);
  output.say(
    'on this machine: millrace fleet join; elsewhere: millrace fleet join FILE, a file of `millrace fleet invite`',
  );
}

/** Without TLS and users of their own, workers on other machines could not be told from anyone else. */
function checkLoopback(url: string): void {
  let host: string | undefined;
  try {
    host = new URL(url).hostname;
  } catch {
    // reported below
  }
  if (host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host ?? '')) return;
  throw new MillraceError({
    code: 'usage',
    message: `${url} is not an address of this machine: a fleet listens on loopback only`,
    asked: `--nats ${url}`,
    advice: 'give nats://127.0.0.1:PORT; other machines reach it through an SSH tunnel',
  });
}

const servedAlready = (dataDir: string): MillraceError =>
  new MillraceError({
    code: 'io',
    message: 'this fleet is served already, by another process',
    asked: `to serve the fleet of ${dataDir}`,
    advice: 'stop that process, or give another --data-dir for another fleet',
  });

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
