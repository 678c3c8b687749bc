import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Call } from '../../console/command/action.js';
import { withEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import { buildOf } from '../../console/command/version.js';
import { holding, type MonitorOptions, startMonitor, withMonitorOptions } from '../../console/monitor/monitor.js';
import { type OpeningOptions, withOpeningOptions } from '../../console/options/device-options.js';
import { options, valued, wholeNumber } from '../../console/options/options.js';
import { type FeedingOptions, withFeedingOptions } from '../../console/options/pipeline-options.js';
import { duration, rate } from '../../console/output/format.js';
import type { Ending, Output } from '../../console/output/output.js';
import { keepSecret } from '../../console/output/redact.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import type { Device } from '../../device/device.js';
import type { Engine } from '../../engine/index.js';
import { MillraceError } from '../../kernel/error.js';
import { type GivenCredentials, identityOf, rpcCredentials } from '../../network/credentials.js';
import { HTTP_SCHEMES, LINE_SCHEMES, parseEndpoint } from '../../network/endpoint.js';
import { JsonRpc } from '../../network/json-rpc.js';
import { Miner } from './miner.js';
import { minedLine, Reporter, type Terms } from './report.js';
import { type OpenSession, Pools } from './server/pools.js';
import type { Mined, Scan, WorkSource } from './source.js';

/** Options of a `mine` command, the same for every coin. */
export interface MiningOptions
  extends GivenCredentials,
    FeedingOptions,
    OpeningOptions,
    MonitorOptions,
    TelemetryOptions {
  readonly device: string;
  readonly rpc?: string;
  readonly stratum?: string;
  readonly payout?: string;
  readonly ca?: string;
  readonly count?: number;
}

/** Adds the mining options to a command. `port`: default RPC port of the coin's nodes, for the help text. */
export function withMiningOptions(command: Command, port: number): Command {
  command
    .addOption(valued('--rpc <url>', `a node, as in http://127.0.0.1:${port}`))
    .addOption(
      valued('--stratum <list>', 'pools in their order, as in stratum+tcp://host:3333,stratum+ssl://other:3334'),
    )
    .addOption(valued('--payout <address>', 'who is paid, solo: an address of the chain, or script:HEX'))
    .addOption(valued('--user <name>', 'name at the node, or the worker at pools whose address has none'))
    .addOption(valued('--password <text>', 'its password; better from a file or MILLRACE_PASSWORD'))
    .addOption(valued('--password-file <file>', 'its password, the first line of a file'))
    .addOption(valued('--cookie <file>', "the node's .cookie file, instead of name and password"))
    .addOption(valued('--ca <file>', 'certificates of an authority of your own, PEM'))
    .addOption(
      valued('--count <n>', 'end after so many accepted blocks (solo) or shares').argParser(
        wholeNumber(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(options.devices().default('auto', 'the best there is'));
  return withTelemetryOptions(withMonitorOptions(withOpeningOptions(withFeedingOptions(command))));
}

/** For `action`: how long mining may take to end after Ctrl-C. It waits for the answers to the last shares. */
export const MINING_MANNER = { graceMs: 1800 };

/** The coin-specific part of mining. */
export interface MiningCoin<Share extends Mined> {
  readonly terms: Terms<Share>;
  /** Mines solo. Throws if the payout is invalid, or missing and required. */
  node(rpc: JsonRpc, payout: string | undefined): WorkSource<Share>;
  /** Mines for pools. */
  open(agent: string): OpenSession<Share>;
  /** Prepares before mining starts, so that the first work is not delayed. */
  prepare?(output: Output, engine: Engine, chain: string | undefined, signal: AbortSignal): Promise<void>;
  scan(engine: Engine, devices: readonly Device[]): Scan<Share> | Promise<Scan<Share>>;
  /** Pipeline options, if the coin's command also has its own names for them. */
  readonly feeding?: FeedingOptions;
}

/** Mines until it is stopped or `--count` is reached. */
export async function mine<Share extends Mined>(call: Call<MiningOptions>, coin: MiningCoin<Share>): Promise<Ending> {
  try {
    return await mineOnDevices(call, coin);
  } catch (error) {
    // Stopped before anything was mined: while the node was asked, or while kernels were compiled.
    if (!call.signal.aborted || error !== call.signal.reason) throw error;
    return call.stopped ?? Exit.stopped;
  }
}

async function mineOnDevices<Share extends Mined>(call: Call<MiningOptions>, coin: MiningCoin<Share>): Promise<Ending> {
  const { source, close } = sourceOf(call, coin);
  try {
    const chain = await source.check?.(call.signal);
    return await mineFrom(call, coin, source, chain);
  } finally {
    close();
  }
}

function mineFrom<Share extends Mined>(
  call: Call<MiningOptions>,
  coin: MiningCoin<Share>,
  source: WorkSource<Share>,
  chain: string | undefined,
): Promise<Ending> {
  const { output, options: given, signal } = call;
  const { terms } = coin;
  const setup = { name: terms.name, unit: terms.unit, ...(coin.feeding && { feeding: coin.feeding }) };
  return withEngine(call, setup, async ({ engine, devices, watch, close }) => {
    await coin.prepare?.(output, engine, chain, signal);
    watch();
    const start = performance.now();
    const reporter = new Reporter(output, source, engine, terms);
    const scan = await coin.scan(engine, devices);
    const miner = new Miner(source, scan, { signal, enough: given.count, ...reporter.hooks });
    const monitor = startMonitor(output, given, reporter.watch(miner), {
      ...holding(engine),
      stop: call.stop,
      signal,
    });
    await miner.run().finally(() => monitor.end());
    const seconds = (performance.now() - start) / 1000;
    const { counts, tries } = miner.tally;
    const hardwareErrors = engine.devices.reduce((sum, { wrong, missed }) => sum + wrong + missed, 0);
    await close();
    output.say(
      `${minedLine(miner.tally, hardwareErrors)} in ${duration(seconds)}, ${rate(Number(tries) / seconds, terms.unit)}`,
    );
    const exit = call.stopped ?? Exit.ok;
    return { exit, answer: { ...counts, hardwareErrors, tried: tries, seconds } };
  });
}

function sourceOf<Share extends Mined>(
  { options: given, output }: Call<MiningOptions>,
  coin: MiningCoin<Share>,
): { source: WorkSource<Share>; close(): void } {
  const { rpc: url, stratum, payout } = given;
  const log = output.diagnose;
  const authority = given.ca === undefined ? undefined : readAuthority(given.ca);
  if ((url === undefined) === (stratum === undefined)) {
    throw miningUsage(
      'where to mine is not said, or said twice',
      'give --rpc URL for a node, or --stratum URL[,URL…] for pools',
    );
  }
  if (url !== undefined) {
    const endpoint = parseEndpoint(url, HTTP_SCHEMES);
    const credentials = rpcCredentials(endpoint, given, keepSecret);
    const rpc = new JsonRpc(endpoint, { credentials, authority, log: log && ((text) => log(`rpc ${text}`)) });
    return { source: coin.node(rpc, payout), close: () => rpc.close() };
  }
  const endpoints = (stratum ?? '').split(',').map((one) => parseEndpoint(one, LINE_SCHEMES));
  const pools = endpoints.map((endpoint) => {
    const { user, password = 'x' } = identityOf(endpoint, given);
    if (user === undefined)
      throw miningUsage(`${endpoint.name} has no worker`, 'give --user NAME, or NAME@ in its address');
    keepSecret(password);
    return { endpoint, user, password };
  });
  const agent = `millrace/${buildOf().split(/[ +(]/, 1)[0]}`;
  return { source: new Pools({ pools, authority, log }, coin.open(agent)), close: () => undefined };
}

function readAuthority(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot read ${path}: ${(cause as Error).message}`,
      asked: `certificates in ${path}`,
      advice: 'name a PEM file that you may read',
      cause,
    });
  }
}

export const miningUsage = (message: string, advice: string): MillraceError =>
  new MillraceError({ code: 'usage', message, asked: 'to mine', advice });
