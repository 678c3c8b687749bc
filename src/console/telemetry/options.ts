import { type Command, InvalidArgumentError } from 'commander';
import { flag, valued } from '../options/options.js';

/** What a command tells of its pipeline, as the command line says it. */
export interface TelemetryOptions {
  readonly metrics?: string;
  readonly trace?: string;
  readonly poolMetrics?: boolean;
  readonly overlap?: boolean;
  readonly prometheus?: Address;
}

/** Gives a command these options; `--api-table` is among those that open devices. */
export function withTelemetryOptions(command: Command): Command {
  return command
    .addOption(valued('--metrics <file>', 'a line of CSV for each chunk: pipeline_metrics.csv'))
    .addOption(valued('--trace <file>', 'a timeline of the last 65,536 chunks, to be opened in ui.perfetto.dev'))
    .addOption(poolMetricsOption())
    .addOption(flag('--overlap', 'how much of the copies was hidden behind launches, at the end'))
    .addOption(
      valued(
        '--prometheus <host:port>',
        'metrics for Prometheus while it runs; the host is this one by default',
      ).argParser(address),
    );
}

export const poolMetricsOption = () => flag('--pool-metrics', 'whether the slots sufficed, at the end');

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Nobody else is to see the figures unless that is asked for. */
const LOOPBACK = '127.0.0.1';

/** `9464`, `:9464`, `localhost:9464`, `0.0.0.0:9464`, `[::1]:9464`; port 0 is any that is free. */
export function address(text: string): Address {
  const [, host = '', digits = ''] = /^(?:(\[[0-9a-f:.]+\]|[\w.-]*):)?(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) throw new InvalidArgumentError('An address is needed, as 9464 or HOST:9464.');
  return { host: host === '' ? LOOPBACK : host.replace(/^\[|\]$/g, ''), port };
}

/** What was asked for. Two have the names of upstream's variables, too: "1" or "true", in any case, is yes. */
export function wantedViews(given: TelemetryOptions, environment: NodeJS.ProcessEnv = process.env): TelemetryOptions {
  const isOn = (name: string): boolean => /^(1|true)$/i.test(environment[name] ?? '');
  return {
    ...given,
    poolMetrics: given.poolMetrics ?? isOn('QDP_ENABLE_POOL_METRICS'),
    overlap: given.overlap ?? isOn('QDP_ENABLE_OVERLAP_TRACKING'),
  };
}
