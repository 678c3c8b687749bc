import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { action, type Call } from '../../../console/action.js';
import { withExamples } from '../../../console/conventions.js';
import { Exit } from '../../../console/exit.js';
import { type FeedingOptions, feedingOf, withFeedingOptions } from '../../../console/feeding.js';
import { duration, rate } from '../../../console/format.js';
import { holding, type MonitorOptions, startMonitor, withMonitorOptions } from '../../../console/monitor.js';
import { type OpeningOptions, startOpening, withOpeningOptions } from '../../../console/opening.js';
import { options, valued, wholeNumber } from '../../../console/options.js';
import type { Ending } from '../../../console/output.js';
import { prepareKernels } from '../../../console/preparation.js';
import { keepSecret } from '../../../console/redact.js';
import { type TelemetryOptions, withTelemetryOptions } from '../../../console/telemetry/options.js';
import { startTelemetry } from '../../../console/telemetry/start.js';
import { buildOf } from '../../../console/version.js';
import { openDevices } from '../../../device/registry.js';
import { Engine } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import { type GivenCredentials, identityOf, rpcCredentials } from '../../../network/credentials.js';
import { HTTP_SCHEMES, LINE_SCHEMES, parseEndpoint } from '../../../network/endpoint.js';
import { JsonRpc } from '../../../network/json-rpc.js';
import { versionKernel, versionsPerItem } from '../versions.js';
import { checkPayout } from './address.js';
import { Miner } from './miner.js';
import { Pools } from './pools.js';
import { minedLine, Reporter } from './report.js';
import { Solo } from './solo.js';
import type { WorkSource } from './source.js';
import { versionsOf } from './work.js';

/** Adds `mine` to `millrace block`. */
export function addMineCommand(block: Command): void {
  const mining = block
    .command('mine')
    .description('mine for a node (solo) or for pools, until it is stopped')
    .addOption(valued('--rpc <url>', 'a node, as in http://127.0.0.1:8332'))
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
      valued('--version-mask <hex>', 'version bits that are rolled; 0: none')
        .argParser(mask)
        .default(USUAL_MASK, '1fffe000, BIP 320'),
    )
    .addOption(valued('--suggest-difficulty <d>', 'difficulty that is asked for at pools').argParser(difficulty))
    .addOption(
      valued('--count <n>', 'end after so many accepted blocks (solo) or shares').argParser(
        wholeNumber(1, Number.MAX_SAFE_INTEGER),
      ),
    )
    .addOption(options.devices().default('auto', 'the best there is'));
  withTelemetryOptions(withMonitorOptions(withOpeningOptions(withFeedingOptions(mining))));
  // What was found last is waited for.
  mining.action(action(mine, { hasCheckpoints: true }));
  withExamples(
    mining,
    ['millrace block mine --rpc http://127.0.0.1:18443 --cookie ~/.bitcoin/regtest/.cookie --payout bcrt1…', 'solo'],
    ['millrace block mine --stratum stratum+tcp://pool:3333 --user WORKER --password-file pw', 'for a pool'],
  );
}

interface MineOptions extends GivenCredentials, FeedingOptions, OpeningOptions, MonitorOptions, TelemetryOptions {
  readonly device: string;
  readonly rpc?: string;
  readonly stratum?: string;
  readonly payout?: string;
  readonly ca?: string;
  readonly versionMask: number;
  readonly suggestDifficulty?: number;
  readonly count?: number;
}

async function mine(call: Call<MineOptions>): Promise<Ending> {
  const { output, options: given, signal } = call;
  const { source, close } = sourceOf(call);
  const chain = await source.check?.(signal);
  const { engine: fed, driver } = feedingOf(given);
  const { options: opened, tell } = startOpening(given, output, driver);
  const telemetry = await startTelemetry(given, output, { name: 'block mine', unit: 'H' });
  const devices = await openDevices(given.device, { ...opened, ...telemetry.opening });
  const engine = new Engine(devices, { ...fed, ...telemetry.engine });
  try {
    for (const { info } of devices) output.event('device', { id: info.id, name: info.name });
    const perItem = versionsPerItem(engine, {}, versionsOf(given.versionMask));
    // One variant is for difficulties below 1: regtest's, and those of pools for small devices.
    await prepareKernels(output, engine, [versionKernel(chain !== 'regtest', perItem)]);
    // A pool that changes to the other must not have to wait for a compiler; what is wrong with it is told then.
    if (chain === undefined) engine.prepare(versionKernel(false, perItem)).catch(() => undefined);
    telemetry.watch(engine, devices);
    const start = performance.now();
    const reporter = new Reporter(output, source, engine);
    const miner = new Miner(engine, source, { signal, enough: given.count, ...reporter.hooks });
    const monitor = startMonitor(output, given, reporter.watch(miner), {
      ...holding(engine),
      stop: call.stop,
      signal,
    });
    await miner.run().finally(() => monitor.end());
    const seconds = (performance.now() - start) / 1000;
    const { counts, hashes } = miner.tally;
    const hardwareErrors = engine.devices.reduce((sum, { wrong, missed }) => sum + wrong + missed, 0);
    await engine.close();
    await telemetry.end();
    for (const device of devices) await tell(device);
    output.say(
      `${minedLine(miner.tally, hardwareErrors)} in ${duration(seconds)}, ${rate(Number(hashes) / seconds, 'H')}`,
    );
    const exit = call.stopped ?? Exit.ok;
    return { exit, answer: { ...counts, hardwareErrors, tried: hashes, seconds } };
  } finally {
    close();
    await engine.close();
    await telemetry.end();
    await Promise.all(devices.map((device) => device.close()));
  }
}

function sourceOf({ options: given, output }: Call<MineOptions>): { source: WorkSource; close(): void } {
  const { rpc: url, stratum, payout, versionMask, suggestDifficulty } = given;
  const log = output.diagnose;
  const authority = given.ca === undefined ? undefined : readAuthority(given.ca);
  if ((url === undefined) === (stratum === undefined)) {
    throw usage(
      'where to mine is not said, or said twice',
      'give --rpc URL for a node, or --stratum URL[,URL…] for pools',
    );
  }
  if (url !== undefined) {
    if (payout === undefined) throw usage('nobody would be paid', 'give --payout ADDRESS');
    checkPayout(payout);
    const endpoint = parseEndpoint(url, HTTP_SCHEMES);
    const credentials = rpcCredentials(endpoint, given, keepSecret);
    const rpc = new JsonRpc(endpoint, { credentials, authority, log: log && ((text) => log(`rpc ${text}`)) });
    return { source: new Solo({ rpc, payout, mask: versionMask }), close: () => rpc.close() };
  }
  const endpoints = (stratum ?? '').split(',').map((one) => parseEndpoint(one, LINE_SCHEMES));
  const pools = endpoints.map((endpoint) => {
    const { user, password = 'x' } = identityOf(endpoint, given);
    if (user === undefined) throw usage(`${endpoint.name} has no worker`, 'give --user NAME, or NAME@ in its address');
    keepSecret(password);
    return { endpoint, user, password };
  });
  const agent = `millrace/${buildOf().split(/[ +(]/, 1)[0]}`;
  const source = new Pools({ pools, agent, mask: versionMask, suggested: suggestDifficulty, authority, log });
  return { source, close: () => undefined };
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

/** Bits that BIP 320 leaves to miners. */
const USUAL_MASK = 0x1fffe000;

function mask(text: string): number {
  if (!/^(0x)?[0-9a-f]{1,8}$/i.test(text)) throw new InvalidArgumentError('Up to eight digits of hex are needed.');
  const value = Number.parseInt(text.replace(/^0x/i, ''), 16);
  if (versionsOf(value) <= 2 ** 24) return value;
  throw new InvalidArgumentError('At most 24 bits can be rolled.');
}

function difficulty(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new InvalidArgumentError('A number above 0 is needed.');
}

const usage = (message: string, advice: string): MillraceError =>
  new MillraceError({ code: 'usage', message, asked: 'to mine', advice });
