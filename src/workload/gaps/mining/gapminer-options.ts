import type { Command } from 'commander';
import { flag, valueOption, wholeNumberParser } from '../../../console/options/options.js';
import { miningUsageError, type ServerOptions } from '../../mining/command.js';

/** GapMiner's own way to name a server: host and port apart, and a flag for pools. */
export interface GapMinerOptions {
  readonly host?: string;
  readonly port?: number;
  readonly pool?: boolean;
}

/** Adds GapMiner's options for a server and its letters for options that the command has. */
export function withGapMinerOptions(command: Command): Command {
  for (const [letter, long] of Object.entries(LETTERS)) {
    const option = command.options.find((one) => one.long === long);
    if (option === undefined) throw new TypeError(`the command has no ${long}`);
    option.short = letter;
    option.flags = `${letter}, ${option.flags}`;
  }
  return command
    .addOption(valueOption('-o, --host <name>', 'the node or pool by name, with --port, instead of a URL'))
    .addOption(valueOption('-p, --port <n>', 'its port').argParser(wholeNumberParser(1, 65_535)))
    .addOption(flag('-c, --pool', '--host is a pool, not a node'));
}

const LETTERS = { '-u': '--user', '-x': '--password', '-t': '--threads' };

/** The node or pool that `--host` and `--port` name, or the one that a URL names. */
export function serverOf({ host, port, pool = false, rpc, stratum }: GapMinerOptions & ServerOptions): ServerOptions {
  const given = { ...(rpc !== undefined && { rpc }), ...(stratum !== undefined && { stratum }) };
  if (host === undefined && port === undefined && !pool) return given;
  if (host === undefined || port === undefined) {
    throw miningUsageError('--host and --port belong together', 'give both, or a URL with --rpc or --stratum');
  }
  if (rpc !== undefined || stratum !== undefined) {
    throw miningUsageError('--host and a URL are given', 'give either --host and --port, or --rpc or --stratum');
  }
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return pool ? { stratum: `stratum+tcp://${address}` } : { rpc: `http://${address}` };
}
