import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { CoordinatorService, FleetFiles } from '../../fleet/coordinator/index.js';
import { fleetFolder, removeInvite, saveInvite } from '../../fleet/local.js';
import { Bus, type Invite, PrivateServer } from '../../fleet/nats/index.js';
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
  const files = new FleetFiles(fleetFolder(given.dataDir));
  let server: PrivateServer | undefined;
  let bus: Bus | undefined;
  let service: CoordinatorService | undefined;
  try {
    if (given.nats === undefined)
      server = await PrivateServer.start({ folder: files.serverFolder, token: files.token, warn: output.warn });
    const invite = inviteOf(given, files, server);
    if (invite.token !== undefined) registerSecret(invite.token);
    bus = await Bus.connect(invite, 'millrace coordinator');
    service = await CoordinatorService.start({ bus, files, store, workloads, say: output.say, warn: output.warn });
    saveInvite(given.dataDir, invite);
    announce(output, bus, invite);
    await Promise.race([aborted(signal), service.failed, ...(server ? [server.failed] : [])]);
    return { exit: call.stopped ?? Exit.stopped, answer: { fleet: files.fleet } };
  } finally {
    removeInvite(given.dataDir);
    await service?.close();
    await bus?.close();
    await server?.stop();
    await store.close();
  }
}

function announce(output: Output, bus: Bus, { url, fleet }: Invite): void {
  output.say(`fleet ${fleet} at ${url} (nats-server ${bus.serverVersion})`);
  output.say('on this machine: millrace fleet join; elsewhere: millrace fleet join with the line of `fleet invite`');
}

function inviteOf({ nats, token }: ServeOptions, files: FleetFiles, server: PrivateServer | undefined): Invite {
  const { fleet } = files;
  if (server) return { url: server.url, fleet, token: files.token };
  return { url: nats ?? '', fleet, ...(token !== undefined && { token }) };
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

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
