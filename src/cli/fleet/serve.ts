import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import { buildVersion } from '../../console/command/version.js';
import { announce as announceProcess } from '../../console/live/announce.js';
import { type CommandDashboard, openDashboard } from '../../console/live/dashboard-loader.js';
import { startFleetFeed } from '../../console/live/fleet-feed.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { exposition } from '../../console/telemetry/exposition.js';
import { fleetMetrics } from '../../console/telemetry/fleet-metrics.js';
import { type MetricsServer, openMetricsServer } from '../../console/telemetry/metrics-loader.js';
import type { TelemetryOptions } from '../../console/telemetry/options.js';
import { Authority } from '../../fleet/access/index.js';
import { CoordinatedFleet, type CoordinatorService, FleetHost } from '../../fleet/coordinator/index.js';
import { fleetFolder, removeInvite, saveInvite } from '../../fleet/local.js';
import { FleetFiles, readIdentity } from '../../fleet/replica/index.js';
import { MillraceError } from '../../kernel/error.js';
import { openStore } from '../../store/index.js';
import { type JoinPage, openJoinPage } from './join-page.js';
import { type ServerOptions, serverOf } from './server-options.js';
import { workloads } from './workloads.js';

export interface ServeOptions extends ServerOptions, Pick<TelemetryOptions, 'dashboard' | 'prometheus'> {
  readonly dataDir: string;
  readonly standby?: boolean;
}

/** Coordinates a fleet until it is stopped. */
export async function serve(call: Call<ServeOptions>): Promise<CommandResult> {
  const { output, options: given, signal } = call;
  const place = serverOf(given);
  if (given.standby && place?.kind !== 'given') throw privateServer();
  const store = await openStore(given.dataDir, { warn: output.warn });
  if (!(await store.hold('fleet'))) {
    await store.close();
    throw servedAlready(given.dataDir);
  }
  const { say, warn } = output;
  let fleet: FleetHost | undefined;
  let page: JoinPage | undefined;
  try {
    page = await openJoinPage(given, place);
    const server = page.place;
    const standby = given.standby ? signal : undefined;
    fleet = await FleetHost.start({ folder: fleetFolder(given.dataDir), store, workloads, server, say, warn, standby });
    page.serves(fleet);
    for (const secret of [fleet.invite.seed, fleet.invite.token]) if (secret !== undefined) registerSecret(secret);
    saveInvite(given.dataDir, fleet.invite);
    announce(output, fleet);
    const { failed } = fleet;
    await watched(call, fleet.service, () => Promise.race([aborted(signal), failed]));
    return { exit: call.stopped ?? Exit.stopped, answer: { fleet: fleet.invite.fleet } };
  } catch (error) {
    if (fleet !== undefined || !signal.aborted) throw error;
    return { exit: call.stopped ?? Exit.stopped, answer: {} };
  } finally {
    removeInvite(given.dataDir);
    await fleet?.close();
    await page?.close();
    await store.close();
  }
}

/** Runs `work` while pages can show the fleet: that of `--dashboard`, and those of other processes. */
async function watched(
  { output, options: { dashboard: address, prometheus, dataDir } }: Call<ServeOptions>,
  service: CoordinatorService,
  work: () => Promise<unknown>,
): Promise<void> {
  const feed = startFleetFeed(output, new CoordinatedFleet(service), () => service.view.overview());
  const announcement = announceProcess(dataDir, output);
  let metrics: MetricsServer | undefined;
  let dashboard: CommandDashboard | undefined;
  try {
    metrics = await openMetricsServer(prometheus, output, () => metricsText(service));
    dashboard = await openDashboard(address, output, dataDir);
    await work();
  } finally {
    await dashboard?.close();
    await metrics?.close();
    announcement.end();
    feed.end();
  }
}

function metricsText({ view }: CoordinatorService): string {
  const { user, system } = process.cpuUsage();
  return exposition(fleetMetrics(view.overview(), { version: buildVersion(), cpuSeconds: (user + system) / 1e6 }));
}

function announce(output: Output, { bus, url, invite: { fleet }, server, browsers }: FleetHost): void {
  output.say(`fleet ${fleet} at ${url} (nats-server ${bus.serverVersion})`);
  const websocket = browsers?.url ?? server?.websocketUrl;
  if (websocket !== undefined) output.say(`browsers connect to ${websocket}`);
  if (browsers) output.say(`page ${browsers.page}: links to it are made by \`millrace fleet invite --browser\``);
  output.say(
    'on this machine: millrace fleet join; elsewhere: millrace fleet join FILE, a file of `millrace fleet invite`',
  );
}

/** Prints the lines that the user's own server needs to check the users of this fleet. */
export async function config({ output, options }: Call<{ readonly dataDir: string }>): Promise<CommandResult> {
  const files = fleetFolder(options.dataDir);
  const { fleet } = readIdentity(files) ?? newFleet(files);
  const lines = (await Authority.open(files, fleet)).serverLines;
  for (const line of lines) output.data(line);
  return { exit: Exit.ok, answer: { fleet, lines } };
}

/** Makes the files of a fleet that was never served. */
const newFleet = (folder: string): { readonly fleet: string } => new FleetFiles(folder);

const servedAlready = (dataDir: string): MillraceError =>
  new MillraceError({
    code: 'io',
    message: 'this fleet is served already, by another process',
    asked: `to serve the fleet of ${dataDir}`,
    advice: 'stop that process, or give another --data-dir for another fleet',
  });

const privateServer = (): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'a private server ends with its coordinator: a standby needs one that both use',
    asked: '--standby',
    advice: 'start a NATS server with the lines of `millrace fleet config`, and give its URL with --nats to both',
  });

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
