import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { between } from '../../src/engine/work/space.js';
import { FleetClient, FleetSearch } from '../../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../../src/fleet/manifest/index.js';
import { startJoinServer } from '../../src/web/join/server.js';
import type { WebServer } from '../../src/web/server/server.js';
import { patience } from '../tier.js';
import { type RoundsHit, roundsKernel } from './fleet.js';
import { FleetHere } from './here.js';

/** A fleet in this process with the page that works for it. */
export class BrowserFleet {
  readonly fleet: FleetHere;
  readonly #server: WebServer;

  private constructor(fleet: FleetHere, server: WebServer) {
    this.fleet = fleet;
    this.#server = server;
  }

  static async start(): Promise<BrowserFleet> {
    let connect: readonly string[] = [];
    const address = { host: '127.0.0.1', port: 0 };
    const server = await startJoinServer({ address, about: 'A test of "pages"', connect: () => connect });
    const { page } = server;
    const websocket = { listen: address, origins: [new URL(page).origin], page };
    const fleet = await FleetHere.start({ kind: 'private', websocket });
    connect = [fleet.host.browsers?.url ?? ''];
    return new BrowserFleet(fleet, server);
  }

  /** Where pages connect. */
  get websocket(): string {
    return this.fleet.host.browsers?.url ?? '';
  }

  get serverPid(): number {
    const config = join(this.fleet.folder, 'fleet', 'nats', 'server.conf');
    return Number(spawnSync('pgrep', ['-f', config], { encoding: 'utf8' }).stdout.trim().split('\n')[0]);
  }

  /** Makes a link. Results of its worker count at once, unless it is a stranger's. */
  async link(name: string, isTrusted = true): Promise<string> {
    return (await (await this.fleet.client()).invite('worker', 600, name, isTrusted, true)).line;
  }

  /** Ids of workers that the coordinator has heard of a user. */
  workersOf(user: string): string[] {
    return [...this.fleet.host.service.core.workers.keys()].filter((id) => id.startsWith(`${user}.`));
  }

  /** Runs the kernel on the fleet. Resolves to its hits, in their order. */
  async run(space: number, limit: number, rounds: number): Promise<RoundsHit[]> {
    const packed = packKernelJob(
      { kernel: roundsKernel(rounds), job: { limit }, buffers: {} },
      between(0n, BigInt(space)),
      'all',
    );
    const client = new FleetClient(await this.fleet.connect('submitter'));
    const search = new FleetSearch(client, packed, signingKey(), AbortSignal.timeout(Math.round(patience(120_000))));
    const hits: RoundsHit[] = [];
    for await (const { index, last } of search) hits.push({ index, last: Number(last) });
    return hits;
  }

  async close(): Promise<void> {
    await this.fleet.close();
    await this.#server.close();
  }
}

/** A page that works for a fleet, and what went wrong in it. */
export type JoinedPage = Page & { readonly faults: string[]; readonly addresses: string[] };

/** Opens a link, and waits until the page is connected. */
export async function openJoin(browser: Browser | BrowserContext, link: string): Promise<JoinedPage> {
  const page = await browser.newPage();
  page.setDefaultTimeout(patience(60_000));
  const faults: string[] = [];
  const addresses: string[] = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  // A connection that is lost is an error to the browser.
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('WebSocket connection')) faults.push(message.text());
  });
  page.on('request', (request) => addresses.push(request.url()));
  page.on('websocket', (socket) => addresses.push(socket.url()));
  await page.goto(link);
  const joined = Object.assign(page, { faults, addresses });
  await expectConnection(joined, 'connected');
  return joined;
}

export const expectConnection = (page: Page, text: string): Promise<void> =>
  expect.poll(() => page.locator('[data-test=connection]').textContent(), { timeout: patience(30_000) }).toBe(text);

export const expectPhase = (page: Page, text: string): Promise<void> =>
  expect.poll(() => page.locator('[data-test=phase]').textContent(), { timeout: patience(30_000) }).toBe(text);

export const press = (page: Page, name: 'Start' | 'Stop'): Promise<void> => page.getByRole('button', { name }).click();
