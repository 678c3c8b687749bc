/**
 * Parses Prometheus' text format as a scrape would; written from its specification. Throws if the text does not follow the
 * format.
 */
export function readMetrics(text: string): Map<string, MetricFamily> {
  const families = new Map<string, MetricFamily>();
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end');
  let current: MetricFamily | undefined;
  for (const line of text.split('\n').slice(0, -1)) {
    if (line === '') continue;
    const [, what, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (what !== undefined) {
      current = families.get(name) ?? { name, help: undefined, type: undefined, samples: [] };
      families.set(name, current);
      if (current.samples.length > 0) throw new Error(`${what} of ${name} comes behind its samples`);
      if (what === 'HELP') {
        if (current.help !== undefined) throw new Error(`two HELP lines for ${name}`);
        current.help = unescaped(rest);
      } else {
        if (current.type !== undefined) throw new Error(`two TYPE lines for ${name}`);
        if (!/^(counter|gauge|histogram|summary|untyped)$/.test(rest)) throw new Error(`type ${rest} of ${name}`);
        current.type = rest;
      }
      continue;
    }
    if (line.startsWith('#')) continue;
    const sample = sampleIn(line);
    const family = current && belongs(sample.name, current) ? current : undefined;
    if (family === undefined) throw new Error(`${sample.name} stands outside of its family`);
    const key = JSON.stringify([sample.name, Object.entries(sample.labels).sort()]);
    if (family.samples.some((other) => other.key === key)) throw new Error(`twice: ${line}`);
    family.samples.push({ ...sample, key });
  }
  for (const family of families.values()) checkHistogram(family);
  return families;
}

export interface MetricFamily {
  readonly name: string;
  help: string | undefined;
  type: string | undefined;
  readonly samples: (Sample & { readonly key: string })[];
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Returns the value of one sample; throws if there is not exactly one. */
export function sampleValue(
  families: ReadonlyMap<string, MetricFamily>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels);
  const all = [...families.values()].flatMap(({ samples }) => samples).filter((sample) => sample.name === name);
  const found = all.filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value));
  if (found.length !== 1) throw new Error(`${found.length} samples of ${name} ${JSON.stringify(labels)}`);
  return found[0]?.value ?? Number.NaN;
}

function sampleIn(line: string): Sample {
  const [, name = '', , inner = '', value = ''] =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (\S+)(?: -?\d+)?$/.exec(line) ?? [];
  if (name === '') throw new Error(`no sample: ${line}`);
  const labels: Record<string, string> = {};
  for (let left = inner; left !== ''; ) {
    const [whole = '', label = '', text = ''] =
      /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/.exec(left) ?? [];
    if (whole === '' || label in labels) throw new Error(`labels of ${line}`);
    labels[label] = unescaped(text);
    left = left.slice(whole.length);
  }
  return { name, labels, value: numberIn(value) };
}

function numberIn(text: string): number {
  if (text === '+Inf' || text === 'Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  if (text === 'NaN') return Number.NaN;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) throw new Error(`no number: ${text}`);
  return Number(text);
}

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, one: string) => (one === 'n' ? '\n' : one));

const belongs = (sample: string, { name, type }: MetricFamily): boolean =>
  sample === name || (type === 'histogram' && ['_bucket', '_sum', '_count'].some((end) => sample === name + end));

/** Buckets must not decrease, and the last must equal the count. */
function checkHistogram({ name, type, samples }: MetricFamily): void {
  if (type !== 'histogram') return;
  const groups = new Map<string, Sample[]>();
  for (const sample of samples) {
    const { le: _, ...labels } = sample.labels;
    const key = JSON.stringify(labels);
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  for (const [key, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => numberIn(labels.le ?? ''));
    const counts = buckets.map(({ value }) => value);
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    const isRising = (values: readonly number[]): boolean =>
      values.every((value, at) => at === 0 || value >= (values[at - 1] ?? 0));
    if (!isRising(bounds) || !isRising(counts)) throw new Error(`buckets of ${name} ${key} are not in order`);
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY || counts.at(-1) !== count)
      throw new Error(`the count of ${name} ${key}`);
    if (!group.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name} ${key} has no sum`);
  }
}
