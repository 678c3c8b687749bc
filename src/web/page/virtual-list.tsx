import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface VirtualListProps<Row> {
  /** For people who cannot see it. */
  readonly label: string;
  readonly total: number;
  /** Changes when the rows must be read again. */
  readonly version: string;
  readonly load: (from: number, count: number, signal: AbortSignal) => Promise<readonly Row[]>;
  /** `tabIndex` is that of the row's control: Tab reaches one row, arrows lead to the others. */
  readonly row: (row: Row, tabIndex: 0 | -1) => ComponentChildren;
  readonly head: ComponentChildren;
}

/** Height of a row and of the list, in CSS pixels. */
const ROW = 30;
const VIEW = 420;
const VISIBLE = Math.ceil(VIEW / ROW) + 1;
/** Rows around the visible ones. */
const AROUND = 20;
/** Browsers do not scroll further than this by far: longer lists scroll in larger steps. */
const MAX_HEIGHT = 4_000_000;

/** A list of any length, of which only the rows near the visible ones are in the document: at most 55. */
export function VirtualList<Row>({ label, total, version, load, row, head }: VirtualListProps<Row>) {
  const box = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0);
  const [loaded, setLoaded] = useState<{ readonly from: number; readonly rows: readonly Row[] }>({ from: 0, rows: [] });
  const height = Math.min(total * ROW, MAX_HEIGHT);
  const steps = Math.max(1, height - VIEW);
  const last = Math.max(0, total - VISIBLE + 1);
  const first = height < MAX_HEIGHT ? Math.floor(top / ROW) : Math.round((Math.min(top, steps) / steps) * last);
  const from = Math.max(0, first - AROUND);

  useEffect(() => {
    const controller = new AbortController();
    load(from, VISIBLE + 2 * AROUND, controller.signal)
      .then((rows) => setLoaded({ from, rows }))
      .catch(() => undefined); // the connection's state is shown above
    return () => controller.abort();
  }, [from, version, load]);

  const offset = height < MAX_HEIGHT ? loaded.from * ROW : top - (first - loaded.from) * ROW;
  return (
    <div class="list">
      <div class="row head" aria-hidden="true">
        {head}
      </div>
      <section
        class="scroll"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={label}
        onScroll={() => setTop(box.current?.scrollTop ?? 0)}
      >
        <div style={{ height: `${height}px`, position: 'relative' }}>
          <ol style={{ top: `${Math.max(0, offset)}px` }} onKeyDown={moveByArrow}>
            {loaded.rows.map((one, at) => (
              <li class="row" key={loaded.from + at} aria-posinset={loaded.from + at + 1} aria-setsize={total}>
                {row(one, loaded.from + at === first ? 0 : -1)}
              </li>
            ))}
          </ol>
        </div>
      </section>
    </div>
  );
}

/** Moves the focus to the control of the row above or below. */
function moveByArrow(event: KeyboardEvent): void {
  const row = event.target instanceof Element ? event.target.closest('li') : null;
  const next = event.key === 'ArrowDown' ? row?.nextElementSibling : row?.previousElementSibling;
  const control = next?.querySelector<HTMLElement>('a, button');
  if (!control || (event.key !== 'ArrowDown' && event.key !== 'ArrowUp')) return;
  event.preventDefault();
  control.focus();
}
