import { describe, expect, test } from 'vitest';
import { openDevice } from '../src/device/registry.js';
import { Engine } from '../src/engine/engine.js';
import { between } from '../src/engine/work/space.js';
import { FleetClient, FleetSearch } from '../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { Bus, parseInvite } from '../src/fleet/nats/index.js';
import { decodeResult, encodeMessage, type ResultMessage } from '../src/fleet/protocol/index.js';
import { WorkerService } from '../src/fleet/worker/index.js';
import { cell, items, loop, u32, when } from '../src/kernel/index.js';
import type { Kernel } from '../src/kernel/language/signature.js';
import { A, C, expectedHits, ROUNDS, whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { type Lie, liars } from './fleet/liars.js';
import { isShort, patience } from './tier.js';

/** Five workers that are not trusted, one of which lies, on a real server. */
const absent = whyNoFleet();
const SPACE = 200_000;
const LIMIT = 2 ** 20;
const rounds = items('rounds', { job: { limit: u32 }, hit: { last: u32 } }, ({ index, job, emit }) => {
  const x = cell(u32, index.lo);
  loop(ROUNDS, () => x.set(x.mul(A).add(C)));
  when(x.lt(job.limit), () => emit({ last: x.add(0) }));
}) as unknown as Kernel;

/** Changes the results on their way out. */
function lying(bus: Bus, lie: Lie): Bus {
  const heard: ResultMessage[] = [];
  return new Proxy(bus, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (name !== 'publish') return typeof value === 'function' ? value.bind(target) : value;
      return (subject: Parameters<Bus['publish']>[0], bytes: Uint8Array): void => {
        const result = subject === 'result' ? lie(decodeResult(bytes), heard) : undefined;
        target.publish(subject, result ? encodeMessage(result) : bytes);
      };
    },
  });
}

describe('five workers, one of which', () => {
  const kinds = Object.keys(liars).filter((kind) => !/repeats|sends|30 leases|colludes/.test(kind));
  test.skipIf(isShort).for(kinds)(
    '%s: the job ends with the right answer',
    { timeout: patience(300_000) },
    async (kind, ctx) => {
      if (absent) return ctx.skip(absent);
      const fleet = await FleetHere.start();
      const open: { close(): Promise<void> }[] = [];
      try {
        const admin = await fleet.client();
        for (const name of ['a', 'b', 'c', 'd', 'liar']) {
          const bus = await Bus.connect(parseInvite((await admin.invite('worker', 600, name)).line), name);
          const device = await openDevice('wasm', { threads: 1 });
          const engine = new Engine([device]);
          const say = (text: string) => void fleet.notes.push(`${name}: ${text}`);
          const used = name === 'liar' ? lying(bus, liars[kind]!()) : bus;
          open.push(bus, device, engine, new WorkerService({ bus: used, engine, id: name, say, warn: say }));
        }
        // Otherwise the others may have done everything before the liar is asked.
        const { core } = fleet.host.service;
        await expect.poll(() => core.workers.size, { timeout: patience(30_000) }).toBe(5);
        const job = { kernel: rounds, job: { limit: LIMIT }, witness: { limit: 8 * LIMIT }, buffers: {} };
        const packed = packKernelJob(job, between(0n, BigInt(SPACE)), 'all');
        const client = new FleetClient(await fleet.connect('submitter'));
        const search = new FleetSearch(
          client,
          packed,
          signingKey(),
          AbortSignal.timeout(Math.round(patience(240_000))),
        );
        const hits: { readonly index: bigint; readonly last: unknown }[] = [];
        for await (const { index, last } of search) hits.push({ index, last });
        expect(hits).toEqual(expectedHits(SPACE, LIMIT));
        const standings = ['a', 'b', 'c', 'd', 'liar'].map((name) => core.standingOf(`${name}.${name}`).standing);
        expect(standings.slice(0, 4)).not.toContain('barred');
        expect(standings[4], fleet.notes.join('\n')).toBe('barred');
      } finally {
        for (const one of open.reverse()) await one.close();
        await fleet.close();
      }
    },
  );
});
