/** Metrics in the text format that Prometheus reads (version 0.0.4). */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly values: readonly MetricValue[];
}

export interface MetricValue {
  /** Follows the metric's name: a histogram's `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** An unknown value is omitted: a gap is more accurate than a 0. */
  readonly value: number | bigint | undefined;
}

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function exposition(metrics: readonly Metric[]): string {
  return metrics
    .map(({ name, help, type, values }) => {
      const lines = values.flatMap(({ suffix = '', labels = {}, value }) =>
        value === undefined ? [] : `${name}${suffix}${labelText(labels)} ${number(value)}\n`,
      );
      if (lines.length === 0) return '';
      return `# HELP ${name} ${escaped(help, /[\\\n]/g)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, /[\\"\n]/g)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (text: string, which: RegExp): string =>
  text.replace(which, (one) => (one === '\n' ? '\\n' : `\\${one}`));

function number(value: number | bigint): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
