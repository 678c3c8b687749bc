import { describe, expect, onTestFinished, test } from 'vitest';
import type { SourceEvent } from '../src/workload/mining/source.js';
import { cert, key } from './network/certificate.js';
import type { Client } from './network/line-server.js';
import { PoolServer } from './network/pool-server.js';
import { EASY, mine, pool, useDevice } from './network/rig.js';
import { byTier, patience } from './tier.js';

/** Pools that break the protocol, disconnect, or try to steal. */

useDevice();

describe('a pool that misbehaves', () => {
  const odd: readonly [what: string, act: (client: Client) => void][] = [
    ['sends a line of 10 MB', (client) => void client.socket.write(`"${'x'.repeat(10_000_000)}"\n`)],
    ['sends garbage without end', (client) => void client.socket.write(`${'\u0000\ufffd{[\n'.repeat(5000)}`)],
    ['sends a job of wrong types', (client) => client.send({ method: 'mining.notify', params: [1, 2, 3, {}, null] })],
    ['sends a job without a list of parameters', (client) => client.send({ method: 'mining.notify', params: 'now' })],
    ['sets a difficulty of 0', (client) => client.difficulty('0')],
    ['sets a difficulty below 0', (client) => client.difficulty('-1')],
    ['sets a difficulty that is a string', (client) => client.difficulty('"1"')],
    ['sets an endless extranonce', (client) => client.send({ method: 'mining.set_extranonce', params: ['00', 1e9] })],
    ['sets a numeric extranonce', (client) => client.send({ method: 'mining.set_extranonce', params: [7, 4] })],
    ['resets the connection', (client) => client.socket.resetAndDestroy()],
    ['closes the connection', (client) => client.socket.end()],
  ];
  test.each(odd.filter(([what]) => byTier(/wrong types|endless|resets/, /./).test(what)))(
    '%s: the miner disconnects and tries again',
    async (_, act) => {
      const server = await pool();
      const { told, stop } = mine([server.url]);
      await server.until(() => server.accepted.length >= 1);
      for (const client of server.clients) act(client);
      await server.until(() => server.connections >= 2);
      const before = server.accepted.length;
      await server.until(() => server.accepted.length > before + 1);
      await stop();
      expect(told.some((one) => one.startsWith('lost'))).toBe(true);
      expect(server.refused.filter((why) => why !== 'Job not found')).toEqual([]);
    },
  );

  test('sends unsolicited messages: mining continues', async () => {
    const server = await pool();
    const { told, stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 1);
    for (const client of server.clients) {
      client.send({ id: 99_999, result: true, error: null });
      client.send({ id: null, result: null, error: null });
      client.send({ id: 1, result: { 'version-rolling': true }, error: null });
      client.send({ id: 'a', method: 'mining.steal', params: ['wallet'] });
      client.send({ id: { deep: [] }, method: 'client.get_version', params: [] });
      client.send({ method: 'client.show_message', params: [`hello\u001b[2J\u202e${'!'.repeat(1000)}`] });
      client.send({ method: 'client.reconnect', params: ['evil.example', 3333, 0] });
      client.socket.write('not json\n[]\n17\nnull\n\n');
    }
    const before = server.accepted.length;
    await server.until(() => server.accepted.length > before + 2);
    await stop();
    expect([server.connections, server.refused]).toEqual([1, []]);
    expect(told.some((one) => one.includes('another host: not followed'))).toBe(true);
    const message = told.find((one) => one.includes('hello'))!;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: checks that control characters are removed
    expect(message).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(message.length).toBeLessThan(300);
  });

  test('sends byte by byte, and everything at once', async () => {
    const server = await pool();
    server.misdeed = ({ id, method }, client) => {
      if (method !== 'mining.authorize') return false;
      const [first, second, third] = [server.job(), server.job(false), server.job(false)];
      const lines: string[] = [];
      const kept = { send: (message: unknown) => lines.push(JSON.stringify(message)) } as unknown as Client;
      lines.push(JSON.stringify({ id, result: true, error: null }));
      lines.push(`{"id":null,"method":"mining.set_difficulty","params":[${EASY}]}`);
      for (const job of [first, second]) server.notify(kept, job, false);
      client.socket.write(`${lines.splice(0).join('\n')}\n`);
      server.notify(kept, third, false);
      client.socket.setNoDelay(true);
      for (const byte of Buffer.from(`${lines[0]}\r\n`)) client.socket.write(Buffer.of(byte));
      return true;
    };
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.some(({ job }) => job === server.current!.id));
    await stop();
    expect(server.refused).toEqual([]);
  });

  test('sends thousands of jobs in one write: the last one is mined', async () => {
    const server = await pool();
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 1);
    const lines: string[] = [];
    const kept = { send: (message: unknown) => lines.push(JSON.stringify(message)) } as unknown as Client;
    for (let n = 0; n < byTier(400, 5000); n++) server.notify(kept, server.job(true), true);
    for (const { socket } of server.clients) socket.write(`${lines.join('\n')}\n`);
    await server.until(() => server.accepted.some(({ job }) => job === server.current!.id));
    await stop();
    expect(server.connections).toBe(1);
    expect(server.refused.filter((why) => why !== 'Job not found')).toEqual([]);
  });

  test('disconnects at every step: the miner reconnects each time', async () => {
    const server = await pool();
    let dropped = 0;
    let inSession = 0;
    server.misdeed = ({ method }, client) => {
      if (method === 'mining.configure' || (method === 'mining.subscribe' && dropped === 1)) inSession = 0;
      inSession += 1;
      if (dropped >= 5 || inSession !== dropped + 1) return false;
      dropped += 1;
      inSession = 0;
      client.socket.destroy();
      return true;
    };
    const { stop } = mine([server.url]);
    await server.until(() => dropped === 5 && server.accepted.length >= 2);
    await stop();
    expect(server.connections).toBeGreaterThanOrEqual(6);
    expect(server.refused).toEqual([]);
  });

  test.each(byTier(['mining.submit'], ['mining.subscribe', 'mining.authorize', 'mining.submit']))(
    'does not answer %s',
    async (silent) => {
      const server = await pool();
      let left = 1;
      server.misdeed = ({ method }) => method === silent && left-- > 0;
      const { miner, until, stop } = mine([server.url], { answerMs: patience(300) });
      await until(
        () => miner.tally.counts.accepted >= 1 && (silent !== 'mining.submit' || miner.tally.counts.lost > 0),
      );
      await stop();
      expect(server.refused).toEqual([]);
      expect(left).toBeLessThan(1);
    },
  );

  test('rejects shares: the reasons are counted, and mining continues', async () => {
    const server = await pool();
    const words: unknown[] = [[23, 'Low difficulty share', null], { code: 21, message: 'stale' }, 'no', null, [21, 5]];
    let count = 0;
    server.misdeed = ({ id, method }, client) => {
      if (method !== 'mining.submit' || count >= words.length) return false;
      client.send({ id, result: false, error: words[count++] });
      return true;
    };
    const { miner, until, stop } = mine([server.url]);
    await until(() => miner.tally.counts.accepted >= 1);
    expect(miner.tally.counts).toMatchObject({ rejected: 3, stale: 2 });
    const reasons = [...miner.tally.reasons.keys()];
    await stop();
    expect(reasons.sort()).toEqual(
      ['Low difficulty share', 'no', 'no reason given', 'rejected without a reason', 'stale'].sort(),
    );
  });
});

describe('several pools', () => {
  test('are used in order, the first again when it is back; each sees only its own credentials', async () => {
    const [first, second] = [await pool(), await pool()];
    const own = (server: PoolServer, who: string): string => server.url.replace('//', `//${who}@`);
    await first.close();
    const urls = [own(first, 'anna:apple-pass'), own(second, 'berta:berry-pass')];
    const { told, log, stop } = mine(urls, { returnMs: 1 });
    await second.until(() => second.accepted.length >= 2);
    await first.listen();
    await first.until(() => first.accepted.length >= 2);
    expect(second.clients.size).toBe(0);
    await first.close();
    const before = second.accepted.length;
    await second.until(() => second.accepted.length > before + 1);
    await stop();
    expect([...first.refused, ...second.refused]).toEqual([]);
    const said = (server: PoolServer): string => JSON.stringify(server.lines);
    expect(said(first)).toContain('apple-pass');
    expect(said(first)).not.toMatch(/berta|berry/);
    expect(said(second)).not.toMatch(/anna|apple/);
    expect(log.concat(told).join('\n')).not.toMatch(/apple-pass|berry-pass/);
    // Requests and answers in the log have the same number.
    expect(log.some((line) => /→ \{"id":2,"method":"mining.subscribe"/.test(line))).toBe(true);
    expect(log.some((line) => /← \{"id":2,"result":\[/.test(line))).toBe(true);
  });

  test('may move the miner to another port of the same host', async () => {
    const [first, second] = [await pool(), await pool()];
    const { stop } = mine([first.url]);
    await first.until(() => first.accepted.length >= 1);
    for (const client of first.clients)
      client.send({ method: 'client.reconnect', params: ['127.0.0.1', second.port, 0] });
    await second.until(() => second.accepted.length >= 1);
    await stop();
    expect(second.refused).toEqual([]);
  });

  test('with an untrusted certificate are refused, and accepted if its authority is given', async () => {
    const server = new PoolServer();
    server.difficulty = EASY;
    await server.listen({ key, cert });
    onTestFinished(() => server.close());
    const url = server.url.replace('tcp://', 'ssl://');
    let refused: () => void = () => undefined;
    const isRefused = new Promise<void>((resolve) => {
      refused = resolve;
    });
    const reasons: string[] = [];
    const onSourceEvent = ({ message }: SourceEvent): void => {
      reasons.push(message);
      refused();
    };
    const untrusting = mine([url], {}, { onSourceEvent });
    await isRefused;
    await untrusting.stop();
    expect(reasons[0]).toMatch(/self-signed certificate/);
    expect(server.lines).toEqual([]);
    const { stop } = mine([url], { authority: cert });
    await server.until(() => server.accepted.length >= 1);
    await stop();
  });
});
