import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { HitPage, HitRow } from '../live/state.js';
import { read } from './session.js';
import { count, indexText } from './text.js';
import { VirtualList } from './virtual-list.js';

/** The results of a job: search, copy, download. `found` changes when there are more. */
export function Hits({ jobKey, found }: { readonly jobKey: string; readonly found: number }) {
  const [search, setSearch] = useState('');
  const [answer, setAnswer] = useState<Answer>({ total: 0, found, isFull: false });
  const [names, setNames] = useState<readonly string[]>([]);
  const [widths, setWidths] = useState<readonly number[]>([]);
  const latest = useRef(found);
  latest.current = found;
  const version = useSlow(found, search !== '' ? SEARCH_MS : answer.isFull ? FULL_MS : ROWS_MS);
  const query = search === '' ? '' : `search=${encodeURIComponent(search)}`;
  const load = useCallback(
    async (from: number, rows: number, signal: AbortSignal): Promise<readonly HitRow[]> => {
      const page = await read<HitPage>(`/api/jobs/${jobKey}/hits?from=${from}&count=${rows}&${query}`, signal);
      setAnswer({ total: page.total, found: latest.current, isFull: page.rows.length === rows });
      const [first] = page.rows;
      const found = first ? Object.keys(first.values) : [];
      if (first) setNames(found);
      setWidths(widthsOf(page.rows, found));
      return page.rows;
    },
    [jobKey, query],
  );
  const more = search === '' ? Math.max(0, found - answer.found) : 0;
  // A job that is resumed has all of its hits before the page knows how many it had found.
  const total = Math.min(answer.total + more, Math.max(answer.total, found));
  return (
    <section class="panel hits" aria-labelledby="hits" style={styleOf(widths)}>
      <div class="title">
        <h2 id="hits">
          Hits <span data-test="hits">{count(total)}</span>
        </h2>
        <span class="actions">
          <a href={`/api/jobs/${jobKey}/hits.csv?${query}`} download>
            CSV
          </a>
          <a href={`/api/jobs/${jobKey}/hits.json?${query}`} download>
            JSON
          </a>
          <label>
            <span class="hidden">Search in hits</span>
            <input
              type="search"
              placeholder="search"
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value.trim())}
            />
          </label>
        </span>
      </div>
      {total === 0 ? (
        <p class="dim">{search === '' ? 'No hits yet.' : 'No hit matches.'}</p>
      ) : (
        <VirtualListOfHits total={total} names={names} version={`${version} ${query}`} load={load} />
      )}
      {total === 0 && <Probe load={load} version={`${version} ${query}`} />}
    </section>
  );
}

/** Characters of the longest index and of the longest value of each name. */
const widthsOf = (rows: readonly HitRow[], names: readonly string[]): number[] => [
  Math.max(5, ...rows.map(({ index }) => indexOf(index).length)),
  ...names.map((name) => Math.max(name.length, ...rows.map(({ values }) => values[name]?.length ?? 0))),
];

/** Columns as wide as their values. A list that is wider than the page scrolls. */
const styleOf = (widths: readonly number[]) => ({
  '--columns': `${widths.map((width) => `${width + 1}ch`).join(' ')} minmax(4.5rem, 1fr)`,
  '--least': `calc(${widths.reduce((sum, width) => sum + width + 1, 0)}ch + ${4.5 + 0.8 * widths.length}rem)`,
});

const indexOf = (index: HitRow['index']): string => (index === '' ? '' : indexText(index));

/** What the server said last. */
interface Answer {
  readonly total: number;
  /** Hits that the job had then: those found since are added to the total. */
  readonly found: number;
  /** True if all rows that fit were there: more hits change only the total, unless they come out of order. */
  readonly isFull: boolean;
}

interface ListProps {
  readonly total: number;
  readonly names: readonly string[];
  readonly version: string;
  readonly load: (from: number, count: number, signal: AbortSignal) => Promise<readonly HitRow[]>;
}

function VirtualListOfHits({ total, names, version, load }: ListProps) {
  return (
    <VirtualList
      label="Hits"
      total={total}
      version={version}
      load={load}
      head={
        <>
          <span>index</span>
          {names.map((name) => (
            <span key={name}>{name}</span>
          ))}
        </>
      }
      row={(hit, tabIndex) => <Hit hit={hit} names={names} tabIndex={tabIndex} />}
    />
  );
}

interface HitProps {
  readonly hit: HitRow;
  readonly names: readonly string[];
  readonly tabIndex: number;
}

function Hit({ hit, names, tabIndex }: HitProps) {
  const values = names.map((name) => hit.values[name] ?? '');
  const text = [String(hit.index), ...values].join('\t');
  return (
    <>
      <span>{indexOf(hit.index)}</span>
      {names.map((name, at) => (
        <span key={name}>{values[at]}</span>
      ))}
      <span class="last">
        <CopyButton text={text} label={`Copy hit ${hit.index}`} tabIndex={tabIndex} />
      </span>
    </>
  );
}

/** Asks for the first rows while the list, which would ask, is not shown. */
function Probe({ load, version }: Pick<ListProps, 'load' | 'version'>) {
  useEffect(() => {
    const controller = new AbortController();
    load(0, 1, controller.signal).catch(() => undefined); // the connection's state is shown above
    return () => controller.abort();
  }, [load, version]);
  return null;
}

/**
 * How often rows are read again while hits arrive. A page of them takes the server 10 ms of processor time; a search,
 * which looks at all hits, takes 0.3 s for a million.
 */
const ROWS_MS = 1000;
const FULL_MS = 10_000;
const SEARCH_MS = 30_000;

/** Follows a number, at most once in a time. Changes once more after the number has stopped: the last hits are stored late. */
function useSlow(value: number, ms: number): string {
  const [slow, setSlow] = useState({ value, isLast: true });
  const latest = useRef(value);
  latest.current = value;
  useEffect(() => {
    const next = (before: typeof slow): typeof slow => {
      if (latest.current !== before.value) return { value: latest.current, isLast: false };
      return before.isLast ? before : { ...before, isLast: true };
    };
    const timer = setInterval(() => setSlow(next), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return `${slow.value} ${slow.isLast}`;
}

/**
 * Copies a text; resolves to false if the browser refuses. It gives no clipboard to pages that came from another machine
 * without encryption, nor to those that the user denied it: there a selection is copied.
 */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text);
  }
}

function copySelection(text: string): boolean {
  const area = document.createElement('textarea');
  const { activeElement } = document;
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (activeElement instanceof HTMLElement) activeElement.focus();
  return isCopied;
}

interface CopyProps {
  readonly text: string;
  readonly label: string;
  readonly name?: string;
  readonly tabIndex?: number;
}

export function CopyButton({ text, label, name = 'copy', tabIndex = 0 }: CopyProps) {
  const [outcome, setOutcome] = useState('');
  const copy = async (): Promise<void> => {
    setOutcome((await copyText(text)) ? 'copied' : 'not copied');
    setTimeout(() => setOutcome(''), 1500);
  };
  return (
    <button type="button" class="small" aria-label={label} tabIndex={tabIndex} onClick={() => void copy()}>
      {outcome || name}
    </button>
  );
}
