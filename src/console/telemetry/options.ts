import { type Command, InvalidArgumentError } from 'commander';
import { flag, valueOption } from '../options/options.js';

/** Options of the command line for telemetry. */
export interface TelemetryOptions {
  readonly metrics?: string;
  readonly trace?: string;
  readonly poolMetrics?: boolean;
  readonly overlap?: boolean;
  readonly prometheus?: Address;
  readonly dashboard?: Address;
}

/** Adds these options to a command; `--api-table` is one of the device options. */
export function withTelemetryOptions(command: Command): Command {
  return command
    .addOption(valueOption('--metrics <file>', 'write a line of CSV for each chunk to a file, and print a summary'))
    .addOption(valueOption('--trace <file>', 'write a timeline of the last 65,536 chunks, for ui.perfetto.dev'))
    .addOption(poolMetricsOption())
    .addOption(flag('--overlap', 'print at the end how much of the copies was hidden behind launches'))
    .addOption(prometheusOption())
    .addOption(dashboardOption());
}

export const prometheusOption = () =>
  valueOption(
    '--prometheus <host:port>',
    'serve metrics for Prometheus during the run (default host: 127.0.0.1)',
  ).argParser(parseAddress);

/** For commands whose progress a page can show. */
export const dashboardOption = () =>
  valueOption('--dashboard [host:port]', 'show the run in a browser; prints the address (default: 127.0.0.1, any port)')
    .preset('0')
    .argParser(parseAddress);

export const poolMetricsOption = () => flag('--pool-metrics', 'print at the end whether there were enough slots');

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Other machines cannot read the metrics unless the user asks for it. */
const LOOPBACK = '127.0.0.1';

/** `9464`, `:9464`, `localhost:9464`, `0.0.0.0:9464`, `[::1]:9464`; port 0 is any free port. */
export function parseAddress(text: string): Address {
  const [, host = '', digits = ''] = /^(?:(\[[0-9a-f:.]+\]|[\w.-]*):)?(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535)
    throw new InvalidArgumentError('Expected a port or an address, as in 9464 or HOST:9464.');
  return { host: host === '' ? LOOPBACK : host.replace(/^\[|\]$/g, ''), port };
}

/**
 * Returns the options with the variables of upstream applied, which name two of them: "1" or "true", in any case, is yes.
 */
export function withUpstreamVariables(
  given: TelemetryOptions,
  environment: NodeJS.ProcessEnv = process.env,
): TelemetryOptions {
  const isOn = (name: string): boolean => /^(1|true)$/i.test(environment[name] ?? '');
  return {
    ...given,
    poolMetrics: given.poolMetrics ?? isOn('QDP_ENABLE_POOL_METRICS'),
    overlap: given.overlap ?? isOn('QDP_ENABLE_OVERLAP_TRACKING'),
  };
}
