import { describe, expect, test } from 'vitest';
import { EASY } from './network/gap-chain.js';
import type { GapPoolServer } from './network/gap-pool-server.js';
import { gapPool, mineGaps, useVerifier } from './network/gap-rig.js';
import type { Client } from './network/line-server.js';
import { exactJson } from './network/node-server.js';
import { methods } from './network/rig.js';
import { byTier, isShort, patience } from './tier.js';

/** Mining Gapcoin for pools on loopback, which recompute every share with their own code and misbehave on request. */
const HARD = 60n << 48n;

const ofBlock = (server: GapPoolServer): string => server.current!.data.toString('hex', 4, 36);

useVerifier();

describe('shares', () => {
  test('are all accepted: no duplicates, ids from 0, header after header', async () => {
    const server = await gapPool();
    // Few numbers per header, so that several headers are used up.
    const { log, stop } = mineGaps([server.url.replace('//', '//worker:apple-pass@')], {}, {}, { shift: 14 });
    await server.until(() => new Set(server.accepted.map(({ hash }) => hash)).size >= byTier(2, 3));
    await stop();
    expect(server.refused).toEqual([]);
    expect(methods(server).slice(0, 2)).toEqual(['mining.request', 'mining.submit']);
    expect(server.lines.map(({ id }) => id)).toEqual(server.lines.map((_, id) => id));
    expect(server.lines[0]!.params).toEqual(['worker', 'apple-pass']);
    expect(server.lines[1]!.params?.slice(0, 2)).toEqual(['worker', 'apple-pass']);
    // Request and answer have the same number; the password is nowhere.
    expect(log.some((line) => /→ \{"id":1,"method":"mining.submit"/.test(line))).toBe(true);
    expect(log.some((line) => line.endsWith('← {"id":1,"result":true,"error":null}'))).toBe(true);
    expect(log.join('\n')).not.toMatch(/apple-pass/);
  });

  test.skipIf(isShort)('that the chain would also accept are blocks', async () => {
    const server = await gapPool();
    server.job(true, EASY);
    const { miner, until, stop } = mineGaps([server.url]);
    await until(() => miner.tally.counts.accepted >= 2);
    await stop();
    expect(server.refused).toEqual([]);
    expect(miner.tally.counts.blocks).toBe(miner.tally.counts.accepted);
  });

  test('meet the difficulty that the pool set last, even after extreme values', async () => {
    const server = await gapPool();
    const { told, stop } = mineGaps([server.url]);
    await server.until(() => server.accepted.length >= 1);
    for (const wild of [2n ** 64n - 1n, 9007199254740993n, 1n << 62n]) {
      server.difficulty = wild;
      server.send(false);
    }
    server.difficulty = 3n << 48n;
    const job = server.send(false);
    await server.until(() => server.accepted.some((one) => one.job === job));
    // As fixed point, in an object, as a plain number.
    for (const params of [`[${EASY},${22n << 48n}]`, `{"difficulty":${HARD}}`, '[4.5]'])
      for (const { socket } of server.clients)
        socket.write(`{"id":null,"method":"mining.set_difficulty","params":${params}}\n`);
    for (const client of server.clients) client.send({ id: 'heard', method: 'client.get_version', params: [] });
    const heard = (): number => server.lines.findIndex(({ id }) => id === 'heard');
    await server.until(() => heard() >= 0);
    // Shares are checked in order of arrival, 100 ms each; those sent before the answer may still be queued.
    const before = server.lines.slice(0, heard()).filter(({ method }) => method === 'mining.submit').length;
    await server.until(() => server.accepted.length > before + 1);
    await stop();
    expect(server.refused).toEqual([]);
    expect(server.accepted.slice(before).filter(({ worth }) => worth < (9n << 48n) / 2n)).toEqual([]);
    const difficulties = told.flatMap((one) => /^difficulty \S+ (.*)/.exec(one)?.[1] ?? []);
    expect(difficulties).toEqual([
      '4.000000000',
      '65536.000000000',
      '32.000000000',
      '16384.000000000',
      '3.000000000',
      '4.000000000',
      '60.000000000',
      '4.500000000',
    ]);
  });
});

describe('a new block', () => {
  test('ends shares of the old block as soon as it is received', async () => {
    const server = await gapPool();
    const { miner, stop } = mineGaps([server.url]);
    await server.until(() => server.accepted.length >= 1);
    /** Blocks that the client knows to be old: it has answered a request sent after the new one. */
    const over = new Set<unknown>();
    const late: unknown[] = [];
    server.misdeed = ({ id, method, params }) => {
      const block = String(params?.[2]).slice(8, 72);
      if (method === 'mining.submit' && over.has(block)) late.push(block);
      if (method === undefined) over.add(id);
      return method === undefined;
    };
    for (let n = 0; n < byTier(2, 6); n++) {
      const old = ofBlock(server);
      const job = server.send();
      for (const client of server.clients) client.send({ id: old, method: 'client.get_version', params: [] });
      // Half of them come when the block before has only just started.
      if (n % 2 === 0) await server.until(() => over.has(old));
      else await server.until(() => server.accepted.some((one) => one.job === job));
    }
    await server.until(() => server.accepted.some(({ job }) => job === server.current));
    await stop();
    expect(late).toEqual([]);
    expect(server.refused.filter((why) => why !== 'stale')).toEqual([]);
    expect(miner.tally.switchMs).toBeGreaterThan(0);
  });

  test('replaces a search that would never end', async () => {
    const server = await gapPool();
    server.difficulty = HARD;
    const switched: string[] = [];
    let wake: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const onSwitch = ({ id }: { readonly id: string }): void => {
      switched.push(id);
      wake();
    };
    const { stop } = mineGaps([server.url], {}, { onSwitch });
    await begun;
    server.difficulty = EASY;
    const job = server.send(true);
    await server.until(() => server.accepted.some((one) => one.job === job));
    await stop();
    expect(switched).toEqual(['1', '2']);
    expect(server.refused).toEqual([]);
  });
});

describe('a pool that misbehaves', () => {
  const given = (difficulty: string): string =>
    `{"method":"mining.notify","params":{"data":"${'00'.repeat(80)}","difficulty":${difficulty}}}\n`;
  const odd: readonly [what: string, act: (client: Client) => void][] = [
    ['sends a line of 10 MB', ({ socket }) => void socket.write(`"${'x'.repeat(10_000_000)}"\n`)],
    ['sends garbage without end', ({ socket }) => void socket.write('\u0000\ufffd{[\n'.repeat(5000))],
    ['sends work of wrong types', ({ socket }) => void socket.write('{"method":"mining.notify","params":[1,{}]}\n')],
    ['sends a difficulty of 0', ({ socket }) => void socket.write(given('0'))],
    ['sends a difficulty of 65 bits', ({ socket }) => void socket.write(given('18446744073709551616'))],
    ['sets a difficulty below 0', ({ socket }) => void socket.write('{"method":"mining.target","params":[-1]}\n')],
    ['resets the connection', ({ socket }) => socket.resetAndDestroy()],
  ];
  test.each(odd.filter(([what]) => byTier(/garbage|65 bits/, /./).test(what)))(
    '%s: the miner disconnects and tries again',
    async (_, act) => {
      const server = await gapPool();
      const { told, stop } = mineGaps([server.url]);
      await server.until(() => methods(server).includes('mining.request'));
      for (const client of server.clients) act(client);
      await server.until(() => server.connections >= 2 && server.accepted.length >= 1);
      await stop();
      expect(told.some((one) => /^(lost|refused)/.test(one))).toBe(true);
      expect(server.refused).toEqual([]);
    },
  );

  test('sends unsolicited messages: mining continues', async () => {
    const server = await gapPool();
    const { told, stop } = mineGaps([server.url]);
    await server.until(() => server.accepted.length >= 1);
    for (const client of server.clients) {
      client.send({ id: 99_999, result: true, error: null });
      client.send({ id: 'a', method: 'mining.steal', params: ['wallet'] });
      client.send({ method: 'client.show_message', params: ['hello\u001b[2J'] });
      client.send({ method: 'client.reconnect', params: ['evil.example', 3333, 0] });
      client.socket.write('not json\n[]\n17\nnull\n\n');
    }
    const before = server.accepted.length;
    await server.until(() => server.accepted.length > before + 1);
    await stop();
    expect([server.connections, server.refused]).toEqual([1, []]);
    expect(told.some((one) => one.includes('another host: not followed'))).toBe(true);
    expect(told.find((one) => one.includes('hello'))).toMatch(/hello \[2J$/);
  });

  test.skipIf(isShort)('sends byte by byte, and everything at once', async () => {
    const server = await gapPool();
    server.misdeed = ({ id, method }, client) => {
      if (method !== 'mining.request') return false;
      const line = (job: ReturnType<typeof server.job>, how: object): string =>
        exactJson({ ...how, params: { data: job.data.toString('hex'), difficulty: job.difficulty } });
      const [first, second] = [server.job(), server.job()];
      const { data, difficulty } = first;
      const answer = exactJson({ id, result: { data: data.toString('hex'), difficulty }, error: null });
      const push = { id: null, method: 'mining.another_name' };
      client.socket.write(`${answer}\n${line(second, push)}\n${line(server.job(), push)}\n`);
      client.socket.setNoDelay(true);
      for (const byte of Buffer.from(`${line(server.job(), push)}\r\n`)) client.socket.write(Buffer.of(byte));
      return true;
    };
    const { stop } = mineGaps([server.url]);
    await server.until(() => server.accepted.some(({ job }) => job === server.current));
    await stop();
    expect(server.refused.filter((why) => why !== 'stale')).toEqual([]);
  });

  test.skipIf(isShort)('disconnects at every step: the miner reconnects each time', async () => {
    const server = await gapPool();
    const steps = ['mining.request', 'mining.submit', 'mining.request', 'mining.submit'];
    server.misdeed = ({ method }, client) => {
      if (method !== steps[0]) return false;
      steps.shift();
      client.socket.destroy();
      return true;
    };
    const { stop } = mineGaps([server.url]);
    await server.until(() => steps.length === 0 && server.accepted.length >= 1);
    await stop();
    expect(server.connections).toBeGreaterThanOrEqual(5);
    expect(server.refused).toEqual([]);
  });

  test.skipIf(isShort).each(['mining.request', 'mining.submit'])('does not answer %s', async (silent) => {
    const server = await gapPool();
    let left = 1;
    server.misdeed = ({ method }) => method === silent && left-- > 0;
    const { miner, until, stop } = mineGaps([server.url], { answerMs: patience(300) });
    const { counts } = miner.tally;
    await until(() => counts.accepted >= 1 && (silent === 'mining.request' || counts.lost >= 1));
    await stop();
    expect(left).toBeLessThan(1);
    expect(server.refused).toEqual([]);
  });

  test('rejects shares: the reasons are counted, and mining continues', async () => {
    const server = await gapPool();
    const words: unknown[] = [[21, 'Share less than target', null], { code: 20, message: 'stale' }, null, 'no'];
    let count = 0;
    server.misdeed = ({ id, method }, client) => {
      if (method !== 'mining.submit' || count >= words.length) return false;
      client.send({ id, result: count === 2 ? false : null, error: words[count++] });
      return true;
    };
    const { miner, until, stop } = mineGaps([server.url]);
    await until(() => miner.tally.counts.accepted >= 1);
    // A share that is being submitted when mining stops is counted as lost, with that reason.
    const reasons = [...miner.tally.reasons.keys()].sort();
    await stop();
    expect(miner.tally.counts).toMatchObject({ rejected: 3, stale: 1 });
    expect(reasons).toEqual(['Share less than target', 'no', 'rejected without a reason', 'stale']);
  });

  test('refuses the worker: the next pool is used, and sees only its own credentials', async () => {
    const [first, second] = [await gapPool(), await gapPool()];
    first.misdeed = ({ id }, client) => {
      client.send({ id, result: null, error: [24, 'Unauthorized worker', null] });
      return true;
    };
    const own = (server: GapPoolServer, who: string): string => server.url.replace('//', `//${who}@`);
    const urls = [own(first, 'anna:apple-pass'), own(second, 'berta:berry-pass')];
    const { told, log, stop } = mineGaps(urls);
    await second.until(() => second.accepted.length >= 1);
    await stop();
    expect(told.some((one) => one.includes('the pool refuses the worker anna: Unauthorized worker'))).toBe(true);
    expect(JSON.stringify(first.lines)).not.toMatch(/berta|berry/);
    expect(JSON.stringify(second.lines)).not.toMatch(/anna|apple/);
    expect(log.concat(told).join('\n')).not.toMatch(/apple-pass|berry-pass/);
  });
});
