import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { millrace } from './command-line.js';
import { expectedHits, ownServer, saying, TestFleet, whyNoFleet } from './fleet/fleet.js';
import { isShort, patience } from './tier.js';

/** Different ports that nothing uses: servers of a cluster have to know each other's before they start. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<Server>((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** The server that leads the cluster, as a server says. */
async function leaderOf({ folder, child }: { folder: string; child: { pid?: number | undefined } }): Promise<unknown> {
  const ports = JSON.parse(readFileSync(join(folder, `nats-server_${child.pid}.ports`), 'utf8'));
  const state = (await (await fetch(`${ports.monitoring[0]}/jsz`)).json()) as { meta_cluster?: { leader?: string } };
  return state.meta_cluster?.leader;
}

test.skipIf(isShort)(
  'a job ends with all hits although the server of a cluster is killed to which everybody is connected',
  async (ctx) => {
    const absent = whyNoFleet();
    if (absent) return ctx.skip(absent);
    const fleet = new TestFleet();
    const servers: Awaited<ReturnType<typeof ownServer>>[] = [];
    try {
      const { stdout: accounts } = await millrace(['fleet', 'config'], { env: { MILLRACE_HOME: fleet.dataFolder } });
      const ports = await freePorts(3);
      const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(', ');
      for (const [at, port] of ports.entries()) {
        const cluster = `cluster { name: barn, host: 127.0.0.1, port: ${port}, routes: [${routes}] }`;
        servers.push(await ownServer(fleet.folder, `server_name: s${at}\nhttp_port: -1\n${cluster}\n${accounts}`));
      }
      const [first, ...others] = servers;
      await expect.poll(() => leaderOf(first!), { timeout: patience(30_000) }).toMatch(/^s\d$/);
      const served = fleet.start('fleet', 'serve', '--nats', first!.url, '--replicas', '3');
      await saying(served, /^fleet /m);
      await fleet.join('attic');
      const [space, limit] = [400_000, 400_000];
      const run = fleet.run(space, limit);
      await saying(run, /^ *\d+ /m);
      first!.child.kill('SIGKILL');
      const { status, stdout } = await run.ended;
      expect(status).toBe(0);
      const hits = stdout.trim().split('\n');
      expect(hits.map((line) => line.trim().split(/\s+/).join(' '))).toEqual(
        expectedHits(space, limit).map(({ index, last }) => `${index} ${last}`),
      );
      // Each server has both streams.
      for (const { folder } of others) {
        const streams = readdirSync(folder, { recursive: true, encoding: 'utf8' });
        const names = streams.flatMap((path) => /\/streams\/millrace-\w+-(\w+)$/.exec(path)?.[1] ?? []);
        expect(new Set(names)).toEqual(new Set(['log', 'results']));
      }
    } finally {
      for (const { child } of servers) child.kill('SIGKILL');
      await fleet.close();
    }
  },
  patience(240_000),
);
