import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { liveProcesses, watchProcess } from '../src/console/live/processes.js';
import { main } from './command-line.js';
import { type Event, faultOf } from './events.js';
import { patience } from './tier.js';

/** Commands with a dashboard, for tests in a browser. */
export class Commands {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-dashboard-'));
  readonly data = join(this.folder, 'data');
  readonly #running = new Set<RunningCommand>();

  constructor() {
    writeFileSync(join(this.folder, 'slow.mjs'), slowFile('2n ** 40n'));
    writeFileSync(join(this.folder, 'all.mjs'), ALL_HITS);
  }

  write(name: string, text: string | Uint8Array): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Starts a command in the folder, with its own data directory and `--json`. Resolves when it has printed its address. */
  async start(...args: readonly string[]): Promise<RunningCommand> {
    const command = this.startUnwatched(...args);
    await command.url;
    return command;
  }

  /** The same for a command without a page. */
  startUnwatched(...args: readonly string[]): RunningCommand {
    const hasLedger = !/^(encode|(block|gaps) mine|uhash prove)\b/.test(args.join(' '));
    const data = hasLedger ? ['--data-dir', this.data] : [];
    const command = new RunningCommand(this.folder, [...args, ...data, '--json']);
    this.#running.add(command);
    return command;
  }

  async close(): Promise<void> {
    for (const command of this.#running) command.kill('SIGKILL');
    await Promise.all([...this.#running].map(({ ended }) => ended));
    // The server of a fleet outlives a coordinator that is killed.
    spawnSync('pkill', ['-KILL', '-f', join(this.data, 'fleet', 'nats', 'server.conf')]);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** On the interpreter with a part of a processor: some hundreds of indices a second, one in four is a hit. */
export const QUIET = ['--device', 'interpreter', '--max-cpu', '15'] as const;

/** A kernel with hits of two words, in a space of any size. */
export const slowFile = (space: string, more = ''): string => `import { items, u32, when } from 'millrace';
const kernel = items('slow', { job: { step: u32 }, ${more === '' ? '' : 'chunk: { high: u32 }, '}hit: { n: u32, twice: [u32, 2] } },
  ({ index, job, emit }) => {
  when(index.lo.rem(job.step).eq(0), () => emit({ n: index.lo, twice: [index.lo, index.lo.mul(2)] }));
});
export default { kernel, space: ${space}, job: { step: 64 }${more} };
`;

/** Every index is a hit. */
const ALL_HITS = `import { items, u32 } from 'millrace';
const kernel = items('all', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo }));
export default { kernel, space: 2n ** 20n };
`;

export class RunningCommand {
  readonly #child: ChildProcess;
  readonly events: Event[] = [];
  /** The address with its token. */
  readonly url: Promise<string>;
  /** The exit status, or the signal. */
  readonly ended: Promise<number | string | null>;

  constructor(folder: string, args: readonly string[], env = process.env) {
    this.#child = spawn(process.execPath, [main, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let rest = '';
    this.#child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      const lines = (rest + part).split('\n');
      rest = lines.pop() ?? '';
      this.events.push(...lines.map((line) => JSON.parse(line) as Event));
    });
    let said = '';
    this.ended = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve(code ?? signal)));
    this.url = new Promise((resolve, reject) => {
      this.#child.stderr?.setEncoding('utf8').on('data', (part: string) => {
        said += part;
        const [found] = /http:\/\/\S+#token=[\w-]{43}/.exec(said) ?? [];
        if (found !== undefined) resolve(found);
      });
      void this.ended.then(() => reject(new Error(`ended without an address: ${said} ${JSON.stringify(this.events)}`)));
    });
    this.url.catch(() => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The events of a name so far, each checked against the schema. */
  all(name: string): Event[] {
    const found = this.events.filter(({ event }) => event === name);
    expect(found.flatMap((event) => faultOf(event) ?? [])).toEqual([]);
    return found;
  }
}

/** A page and what went wrong in it: errors, and requests to other hosts. */
export type WatchedPage = Page & { readonly faults: string[] };

export async function openPage(browser: Browser, url: string, context?: BrowserContext): Promise<WatchedPage> {
  const page = await (context ?? (await browser.newContext())).newPage();
  page.setDefaultTimeout(patience(60_000));
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('request', (request) => {
    if (new URL(request.url()).host !== new URL(url).host && !/^(data|blob):/.test(request.url()))
      faults.push(request.url());
  });
  await page.goto(url);
  return Object.assign(page, { faults });
}

/** Follows the socket of a command once it is there, and checks every event against the schema. */
export async function socketEvents(data: string, pid: number): Promise<{ events: Event[]; end(): void }> {
  const isThere = (): boolean => liveProcesses(data).some((one) => one.pid === pid);
  await expect.poll(isThere, { timeout: patience(30_000) }).toBe(true);
  const events: Event[] = [];
  const add = (line: string): void => {
    const event = JSON.parse(line) as Event;
    const fault = faultOf(event);
    if (fault !== undefined) throw new Error(fault);
    events.push(event);
  };
  const end = await watchProcess(data, { pid, name: `${pid}.sock` }, add, () => undefined);
  return { events, end };
}

/** The facts of the page by name, all of one moment. */
export const factsOf = (page: Page): Promise<Record<string, string>> =>
  page.evaluate(
    "Object.fromEntries([...document.querySelectorAll('[data-fact]')].map((one) => [one.dataset.fact, one.textContent]))",
  );

/** The cells of a row of a table by their columns, all of one moment. */
export const cellsOf = (page: Page, row: string): Promise<Record<string, string>> =>
  page.evaluate(
    `Object.fromEntries([...document.querySelectorAll('${row} td')].map((one) => [one.dataset.label, one.textContent]))`,
  );

/** The counts of the coverage strip, all of one moment. */
export const stripOf = (
  page: Page,
): Promise<Record<'done' | 'unconfirmed' | 'device' | 'redone' | 'skipped', string[]>> =>
  page.evaluate(
    `(() => { const bins = [...document.querySelectorAll('[data-bin]')].map((one) => one.dataset);
       return { done: bins.map(({ done }) => done), device: bins.map(({ device }) => device), redone: bins.map(({ redone }) => redone),
         unconfirmed: bins.map(({ unconfirmed }) => unconfirmed), skipped: bins.map(({ skipped }) => skipped) }; })()`,
  );

export const sum = (counts: readonly string[]): bigint => counts.reduce((all, one) => all + BigInt(one), 0n);

/** A number as the page writes it. */
export const numberIn = (text = ''): bigint => BigInt(/[\d,]+/.exec(text)?.[0].replaceAll(',', '') ?? -1);
