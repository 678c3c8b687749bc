import type { LiveAction } from '../../console/live/event-hub.js';
import { MillraceError } from '../../kernel/error.js';
import type { Route, RouteCall } from '../server/server.js';
import type { Dashboard } from './dashboard.js';
import { fleetRoutes, openFleet } from './fleet/routes.js';
import type { HitRow } from './state.js';

/** The data of the dashboard's page. */
export function dashboardRoutes(dashboard: Dashboard): Route[] {
  const page = ({ query }: RouteCall) => ({
    from: wholeNumber(query.get('from'), 0, Number.MAX_SAFE_INTEGER),
    count: wholeNumber(query.get('count'), 100, MAX_ROWS),
    search: query.get('search') ?? '',
  });
  return [
    {
      method: 'GET',
      path: '/api/events',
      handle: ({ query }) => ({
        open: (send) => {
          const ends = [dashboard.view(query.get('job') ?? undefined, send), openFleet(dashboard, query, send)];
          return () => {
            for (const end of ends) end();
          };
        },
      }),
    },
    {
      method: 'GET',
      path: '/api/jobs',
      handle: async (call) => {
        const { from, count, search } = page(call);
        return { json: await dashboard.jobs(from, count, search) };
      },
    },
    {
      method: 'GET',
      path: '/api/jobs/:id',
      handle: async ({ params }) => ({ json: await dashboard.job(idOf(params)) }),
    },
    {
      method: 'GET',
      path: '/api/jobs/:id/code',
      handle: ({ params }) => ({ json: { code: dashboard.code(idOf(params)) } }),
    },
    {
      method: 'GET',
      path: '/api/jobs/:id/hits',
      handle: async (call) => {
        const { from, count, search } = page(call);
        return { json: await dashboard.hits(idOf(call.params), from, count, search) };
      },
    },
    {
      method: 'GET',
      path: '/api/jobs/:id/hits.csv',
      handle: ({ params, query }) => {
        const rows = dashboard.allHits(idOf(params), query.get('search') ?? '');
        return { download: `hits-${idOf(params)}.csv`, type: 'text/csv; charset=utf-8', parts: csv(rows) };
      },
    },
    {
      method: 'GET',
      path: '/api/jobs/:id/hits.json',
      handle: ({ params, query }) => {
        const rows = dashboard.allHits(idOf(params), query.get('search') ?? '');
        return { download: `hits-${idOf(params)}.json`, type: 'application/json', parts: json(rows) };
      },
    },
    {
      method: 'GET',
      path: '/api/jobs/:id/trace.json',
      handle: async ({ params }) => {
        const parts = await started(dashboard.trace(idOf(params)));
        return { download: `trace-${idOf(params)}.json`, type: 'application/json', parts };
      },
    },
    {
      method: 'POST',
      path: '/api/jobs/:id/control',
      handle: async ({ params, body }) => {
        const what = await dashboard.control(idOf(params), actionOf(await body()));
        return { json: { what } };
      },
    },
    ...fleetRoutes(dashboard),
  ];
}

const MAX_ROWS = 1000;

const idOf = ({ id = '' }: Readonly<Record<string, string>>): string => id;

function wholeNumber(text: string | null, otherwise: number, max: number): number {
  if (text === null) return otherwise;
  if (/^\d{1,15}$/.test(text) && Number(text) <= max) return Number(text);
  throw new MillraceError({ code: 'usage', message: `expected a whole number up to ${max}`, asked: text });
}

function actionOf(body: unknown): LiveAction {
  const { action, priority } = Object(body) as { action?: unknown; priority?: unknown };
  if (action === 'pause' || action === 'resume' || action === 'stop' || action === 'cancel') return { action };
  if (action === 'priority' && Number.isInteger(priority)) return { action, priority: Number(priority) };
  throw new MillraceError({ code: 'usage', message: 'unknown action', asked: String(action) });
}

/** Waits for the first part, so that an error is an answer and not a broken download. */
async function started(parts: Iterable<string> | AsyncIterable<string>): Promise<AsyncIterable<string>> {
  const iterator = Symbol.asyncIterator in parts ? parts[Symbol.asyncIterator]() : parts[Symbol.iterator]();
  const first = await iterator.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  })();
}

/** RFC 4180. The columns are those of the first row. */
async function* csv(rows: AsyncIterable<HitRow>): AsyncGenerator<string> {
  let names: string[] | undefined;
  let part = '';
  for await (const { index, values } of rows) {
    if (names === undefined) {
      names = Object.keys(values);
      part = `${['index', ...names].map(quoted).join(',')}\r\n`;
    }
    part += `${[String(index), ...names.map((name) => values[name] ?? '')].map(quoted).join(',')}\r\n`;
    if (part.length < MAX_PART) continue;
    yield part;
    part = '';
  }
  yield part;
}

/** A spreadsheet takes text that begins with such a sign for a formula. */
function quoted(text: string): string {
  const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

async function* json(rows: AsyncIterable<HitRow>): AsyncGenerator<string> {
  let part = '[';
  let isFirst = true;
  for await (const { index, values } of rows) {
    part += `${isFirst ? '' : ','}\n${JSON.stringify({ index, ...values })}`;
    isFirst = false;
    if (part.length < MAX_PART) continue;
    yield part;
    part = '';
  }
  yield `${part}\n]\n`;
}

const MAX_PART = 1 << 16;
