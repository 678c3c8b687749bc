import { expect, onTestFinished, test } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { FleetClient, type FleetHit, FleetSearch } from '../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { type ProtocolVersions, VERSIONS } from '../src/fleet/protocol/index.js';
import { expectedHits, roundsKernel, whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { isShort, patience } from './tier.js';

/** A coordinator of the next version of the protocol, whose messages are those of today, and workers of both versions. */
const PREVIOUS = VERSIONS.current;
const NEXT = PREVIOUS + 1;
const absent = whyNoFleet();

// In a short run, src/fleet/protocol/codec.test.ts reads and writes messages of several versions.
test.skipIf(isShort)(
  'a worker of the previous version works for a coordinator of the next one',
  {
    timeout: patience(120_000),
  },
  async (ctx) => {
    if (absent) return ctx.skip(absent);
    const fleet = await FleetHere.start(undefined, { oldest: PREVIOUS, current: NEXT });
    onTestFinished(() => fleet.close());
    const client = new FleetClient(await fleet.connect('submitter'));
    const signal = AbortSignal.timeout(Math.round(patience(60_000)));

    /** Does a job with one worker of a version alone. Returns the versions of the messages to it, and of broadcasts. */
    const work = async (name: string, versions: ProtocolVersions, limit: number) => {
      const bus = await fleet.connectAs(name, 'worker', true);
      const heard = { own: new Set<number>(), all: new Set<number>() };
      const versionOf = (bytes: Uint8Array): number => JSON.parse(Buffer.from(bytes).toString()).version;
      bus.subscribe(`to.${name}.${name}`, (bytes) => void heard.own.add(versionOf(bytes)));
      bus.subscribe('all', (bytes) => void heard.all.add(versionOf(bytes)));
      const worker = await fleet.joinBy(bus, name, 'wasm', [], versions);
      const [space, rounds] = [2000, 8];
      const job = packKernelJob(
        { kernel: roundsKernel(rounds), job: { limit }, buffers: {} },
        between(0n, BigInt(space)),
        'all',
      );
      const hits: FleetHit[] = [];
      for await (const hit of new FleetSearch(client, job, signingKey(), signal)) hits.push(hit);
      expect(hits).toEqual(expectedHits(space, limit, rounds));
      // It has read the answers to its results, too.
      await expect.poll(() => worker.unconfirmed, { timeout: patience(30_000) }).toBe(0);
      worker.leave('done');
      await worker.left;
      return { own: [...heard.own], all: [...heard.all] };
    };

    const old = await work('old', { oldest: PREVIOUS, current: PREVIOUS }, 2 ** 28);
    expect(old).toEqual({ own: [PREVIOUS], all: [PREVIOUS] });
    const young = await work('young', { oldest: PREVIOUS, current: NEXT }, 2 ** 28 + 1);
    expect(young).toEqual({ own: [NEXT], all: [PREVIOUS] });
    // No message was refused, here or there.
    expect(fleet.notes.filter((note) => /version/.test(note))).toEqual([]);
  },
);
