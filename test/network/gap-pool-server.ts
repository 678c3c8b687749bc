import { createHash } from 'node:crypto';
import { EASY } from './gap-chain.js';
import { judgeProof } from './gap-proof.js';
import { type Client, LineServer, type Raw } from './line-server.js';
import { exactJson } from './node-server.js';
import { display, sha256d } from './transactions.js';

export interface GapJob {
  /** The first 80 bytes of the header. */
  readonly data: Buffer;
  /** The minimum difficulty of a share. */
  readonly difficulty: bigint;
}

export interface AcceptedGap {
  readonly job: GapJob;
  readonly hash: string;
  readonly worth: bigint;
  readonly time: number;
}

/** A Gapcoin pool on loopback that recomputes every share from its bytes. */
export class GapPoolServer extends LineServer {
  readonly accepted: AcceptedGap[] = [];
  /** Jobs by merkle root. */
  readonly #jobs = new Map<string, GapJob>();
  readonly #seen = new Set<string>();
  current: GapJob | undefined;
  difficulty = EASY;
  #last: Promise<void> = Promise.resolve();
  #blocks = 0;
  #count = 0;

  /** Makes a job, on a new block or on the current one. */
  job(isNewBlock = true, network = 22n << 48n): GapJob {
    const hash = (what: string): Buffer => createHash('sha256').update(what).digest();
    if (isNewBlock) {
      this.#jobs.clear();
      this.#seen.clear();
      this.#blocks += 1;
    }
    this.#count += 1;
    const data = Buffer.alloc(80);
    data.writeUInt32LE(2, 0);
    data.set(hash(`block ${this.#blocks}`), 4);
    data.set(hash(`root ${this.#count}`), 36);
    data.writeUInt32LE(1_700_000_000 + this.#count, 68);
    data.writeBigUInt64LE(network, 72);
    const job = { data, difficulty: this.difficulty };
    this.#jobs.set(rootOf(data), job);
    this.current = job;
    return job;
  }

  /** Sends a new job to all clients. */
  send(isNewBlock = true, network?: bigint): GapJob {
    const job = this.job(isNewBlock, network);
    for (const client of this.clients) this.notify(client, job);
    return job;
  }

  notify(client: Client, job: GapJob, method = 'blockchain.block.new'): void {
    client.socket.write(`${exactJson({ id: null, method, params: messageOf(job) })}\n`);
  }

  protected answer({ id, method, params = [] }: Raw, client: Client): void {
    const reply = (result: unknown, error: unknown = null): void =>
      void client.socket.write(`${exactJson({ id, result, error })}\n`);
    if (method === 'mining.request') reply(messageOf(this.current ?? this.job()));
    else if (method === 'mining.submit') this.#later(() => this.#conclude(String(params[2]), reply));
    else if (method !== undefined) reply(null, [20, 'unknown method', null]);
  }

  /** Runs one check at a time, each in its own turn of the event loop: one takes 100 ms. */
  #later(act: () => void): void {
    this.#last = this.#last.then(
      () =>
        new Promise((resolve) => {
          setImmediate(() => {
            act();
            this.stir();
            resolve();
          });
        }),
    );
  }

  #conclude(hex: string, reply: (result: unknown, error?: unknown) => void): void {
    const judged = this.#judge(hex);
    if (typeof judged === 'string') {
      this.refused.push(judged);
      reply(null, [20, judged, null]);
    } else {
      this.accepted.push(judged);
      reply(true);
    }
  }

  #judge(hex: string): AcceptedGap | string {
    const bytes = Buffer.from(hex, 'hex');
    if (!/^([0-9a-f]{2}){87,}$/.test(hex)) return 'no header';
    const header = bytes.subarray(0, 84);
    const job = this.#jobs.get(rootOf(header));
    if (!job) return 'stale';
    if (!header.subarray(0, 68).equals(job.data.subarray(0, 68))) return 'another header';
    if (!header.subarray(72, 80).equals(job.data.subarray(72))) return 'another difficulty';
    const time = header.readUInt32LE(68);
    const first = job.data.readUInt32LE(68);
    if (time < first || time > first + 7200) return 'time out of range';
    if (this.#seen.has(hex)) return 'duplicate';
    this.#seen.add(hex);
    const worth = judgeProof(header, bytes.readUInt16LE(84), bytes.subarray(86));
    if (typeof worth === 'string') return worth;
    return worth >= job.difficulty
      ? { job, hash: display(sha256d(header)), worth, time }
      : `Share less than target: ${worth}`;
  }
}

const rootOf = (header: Buffer): string => header.subarray(36, 68).toString('hex');

const messageOf = ({ data, difficulty }: GapJob): Record<string, unknown> => ({
  data: data.toString('hex'),
  difficulty,
});
