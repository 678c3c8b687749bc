import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Call } from '../../console/command/action.js';
import { withEngine } from '../../console/command/engine.js';
import { Exit } from '../../console/command/exit.js';
import { buildVersion } from '../../console/command/version.js';
import {
  enginePauseControls,
  type MonitorOptions,
  startMonitor,
  withMonitorOptions,
} from '../../console/monitor/monitor.js';
import { type DeviceCommandOptions, withDeviceOptions } from '../../console/options/device-options.js';
import { options, valueOption, wholeNumberParser } from '../../console/options/options.js';
import { type PipelineCommandOptions, withPipelineOptions } from '../../console/options/pipeline-options.js';
import { duration, rate } from '../../console/output/format.js';
import type { CommandResult, Output } from '../../console/output/output.js';
import { registerSecret } from '../../console/output/redact.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../console/telemetry/options.js';
import type { Device } from '../../device/device.js';
import type { Engine } from '../../engine/index.js';
import { MillraceError } from '../../kernel/error.js';
import { type CredentialOptions, credentialsFor, rpcCredentials } from '../../network/credentials.js';
import { HTTP_SCHEMES, LINE_SCHEMES, parseEndpoint } from '../../network/endpoint.js';
import { JsonRpc } from '../../network/json-rpc.js';
import { Miner } from './miner.js';
import { type CoinDescription, Reporter, resultsLine } from './report.js';
import { type OpenSession, PoolSource } from './server/pools.js';
import type { Scan, ShareBase, WorkSource } from './source.js';

/** Options that name a node or pools. */
export interface ServerOptions {
  readonly rpc?: string;
  readonly stratum?: string;
}

/** Options of a `mine` command, the same for every coin. */
export interface MiningOptions
  extends ServerOptions,
    CredentialOptions,
    PipelineCommandOptions,
    DeviceCommandOptions,
    MonitorOptions,
    TelemetryOptions {
  readonly device: string;
  readonly payout?: string;
  readonly ca?: string;
  readonly count?: number;
}

/** Adds the mining options to a command. `port`: default RPC port of the coin's nodes, for the help text. */
export function withMiningOptions(command: Command, port: number): Command {
  command
    .addOption(valueOption('--rpc <url>', `a node, as in http://127.0.0.1:${port}`))
    .addOption(
      valueOption(
        '--stratum <list>',
        'pools in order of preference, as in stratum+tcp://host:3333,stratum+ssl://other:3334',
      ),
    )
    .addOption(valueOption('--payout <address>', 'where solo blocks pay to: an address of the chain, or script:HEX'))
    .addOption(valueOption('--user <name>', 'user name at the node, or worker name at pools whose URL has none'))
    .addOption(valueOption('--password <text>', 'its password; better from a file or MILLRACE_PASSWORD'))
    .addOption(valueOption('--password-file <file>', 'its password, the first line of a file'))
    .addOption(valueOption('--cookie <file>', "the node's .cookie file, instead of name and password"))
    .addOption(valueOption('--ca <file>', 'PEM file with the certificates of your own authority'))
    .addOption(
      valueOption('--count <n>', 'end after n accepted blocks (solo) or shares').argParser(
        wholeNumberParser(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(options.devices().default('auto', 'the best available'));
  return withTelemetryOptions(withMonitorOptions(withDeviceOptions(withPipelineOptions(command))));
}

/** For `action`: how long mining may take to end after Ctrl-C. It waits for the answers to the last shares. */
export const MINING_TRAITS = { graceMs: 1800 };

/** The coin-specific part of mining. */
export interface MiningCoin<Share extends ShareBase> {
  readonly description: CoinDescription<Share>;
  /** Mines solo. Throws if the payout is invalid, or missing and required. */
  nodeSource(rpc: JsonRpc, payout: string | undefined): WorkSource<Share>;
  /** Mines for pools. */
  sessionOpener(agent: string): OpenSession<Share>;
  /** Prepares before mining starts, so that the first work is not delayed. */
  prepare?(output: Output, engine: Engine, chain: string | undefined, signal: AbortSignal): Promise<void>;
  scan(engine: Engine, devices: readonly Device[]): Scan<Share> | Promise<Scan<Share>>;
  /** Pipeline options, if the coin's command also has its own names for them. */
  readonly pipelineOptions?: PipelineCommandOptions;
  /** The node or the pools, likewise. */
  readonly server?: ServerOptions;
}

/** Mines until it is stopped or `--count` is reached. */
export async function mine<Share extends ShareBase>(
  call: Call<MiningOptions>,
  coin: MiningCoin<Share>,
): Promise<CommandResult> {
  try {
    return await mineOnDevices(call, coin);
  } catch (error) {
    // Stopped before mining started: during the request to the node, or while kernels were compiled.
    if (!call.signal.aborted || error !== call.signal.reason) throw error;
    return call.stopped ?? Exit.stopped;
  }
}

async function mineOnDevices<Share extends ShareBase>(
  call: Call<MiningOptions>,
  coin: MiningCoin<Share>,
): Promise<CommandResult> {
  const { source, close } = sourceOf(call, coin);
  try {
    const chain = await source.check?.(call.signal);
    return await mineFrom(call, coin, source, chain);
  } finally {
    close();
  }
}

function mineFrom<Share extends ShareBase>(
  call: Call<MiningOptions>,
  coin: MiningCoin<Share>,
  source: WorkSource<Share>,
  chain: string | undefined,
): Promise<CommandResult> {
  const { output, options: opts, signal } = call;
  const { description } = coin;
  const setup = {
    name: description.name,
    unit: description.unit,
    ...(coin.pipelineOptions && { feeding: coin.pipelineOptions }),
  };
  return withEngine(call, setup, async ({ engine, devices, startTelemetry, close }) => {
    await coin.prepare?.(output, engine, chain, signal);
    startTelemetry();
    const start = performance.now();
    const reporter = new Reporter(output, source, engine, description);
    const scan = await coin.scan(engine, devices);
    const miner = new Miner(source, scan, { signal, maxAccepted: opts.count, ...reporter.hooks });
    const monitor = startMonitor(output, opts, reporter.watch(miner), {
      ...enginePauseControls(engine),
      stop: call.stop,
      signal,
    });
    await miner.run().finally(() => monitor.end());
    const seconds = (performance.now() - start) / 1000;
    const { counts, tries } = miner.tally;
    const hardwareErrors = engine.devices.reduce((sum, { wrong, missed }) => sum + wrong + missed, 0);
    await close();
    output.say(
      `${resultsLine(miner.tally, hardwareErrors)} in ${duration(seconds)}, ${rate(Number(tries) / seconds, description.unit)}`,
    );
    const exit = call.stopped ?? Exit.ok;
    return { exit, answer: { ...counts, hardwareErrors, tried: tries, seconds } };
  });
}

function sourceOf<Share extends ShareBase>(
  { options: opts, output }: Call<MiningOptions>,
  coin: MiningCoin<Share>,
): { source: WorkSource<Share>; close(): void } {
  const { rpc: url, stratum } = coin.server ?? opts;
  const log = output.diagnose;
  const authority = opts.ca === undefined ? undefined : readAuthority(opts.ca);
  if ((url === undefined) === (stratum === undefined)) {
    throw miningUsageError(
      url === undefined ? 'neither --rpc nor --stratum is given' : 'both --rpc and --stratum are given',
      'give --rpc URL for a node, or --stratum URL[,URL…] for pools',
    );
  }
  if (url !== undefined) {
    const endpoint = parseEndpoint(url, HTTP_SCHEMES);
    const credentials = rpcCredentials(endpoint, opts, registerSecret);
    const rpc = new JsonRpc(endpoint, { credentials, authority, log: log && ((text) => log(`rpc ${text}`)) });
    return { source: coin.nodeSource(rpc, opts.payout), close: () => rpc.close() };
  }
  const endpoints = (stratum ?? '').split(',').map((one) => parseEndpoint(one, LINE_SCHEMES));
  const pools = endpoints.map((endpoint) => {
    const { user, password = 'x' } = credentialsFor(endpoint, opts);
    if (user === undefined)
      throw miningUsageError(`no worker name for ${endpoint.name}`, 'give --user NAME, or NAME@ in its URL');
    registerSecret(password);
    return { endpoint, user, password };
  });
  const agent = `millrace/${buildVersion().split(/[ +(]/, 1)[0]}`;
  return { source: new PoolSource({ pools, authority, log }, coin.sessionOpener(agent)), close: () => undefined };
}

function readAuthority(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot read ${path}: ${(cause as Error).message}`,
      asked: `certificates in ${path}`,
      advice: 'give a PEM file that you can read',
      cause,
    });
  }
}

export const miningUsageError = (message: string, advice: string): MillraceError =>
  new MillraceError({ code: 'usage', message, asked: 'to mine', advice });
