import { createHash } from 'node:crypto';
import { type Client, LineServer, type Raw } from './line-server.js';
import { display, numberOf, sha256d } from './transactions.js';

export interface Job {
  readonly id: string;
  readonly previous: Buffer;
  readonly coinb1: string;
  readonly coinb2: string;
  readonly branch: readonly Buffer[];
  readonly version: number;
  readonly bits: string;
  readonly time: number;
  readonly target: bigint;
  readonly extranonce1: string;
  readonly size: number;
}

export interface Accepted {
  readonly job: string;
  readonly hash: string;
  readonly extranonce2: string;
  readonly version: number;
  readonly time: number;
}

/** A pool on loopback that recomputes every share from the jobs it has sent. */
export class PoolServer extends LineServer {
  readonly accepted: Accepted[] = [];
  readonly #jobs = new Map<string, Job>();
  readonly #seen = new Set<string>();
  /** The job for new clients. */
  current: Job | undefined;
  difficulty = '0.0001';
  extranonce1 = 'f000000f';
  size = 4;
  /** Version bits that may be rolled; undefined: mining.configure is an unknown method. */
  mask: number | undefined = 0x1fffe000;
  #count = 0;

  /** Makes a job; `send` sends it to all clients. */
  job(isClean = true, change: Partial<Job> = {}): Job {
    this.#count += 1;
    const hash = (what: string): Buffer => createHash('sha256').update(`${what} ${this.#count}`).digest();
    const job: Job = {
      id: `job-${this.#count}`,
      previous: hash('previous'),
      coinb1: `01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff20${hash('a').toString('hex').slice(0, 30)}`,
      coinb2: `${hash('b').toString('hex')}ffffffff0100f2052a01000000015100000000`,
      branch: Array.from({ length: this.#count % 5 }, (_, at) => hash(`branch ${at}`)),
      version: 0x20000000,
      bits: '1d00ffff',
      time: 1_700_000_000 + this.#count,
      target: shareTarget(this.difficulty),
      extranonce1: this.extranonce1,
      size: this.size,
      ...change,
    };
    if (isClean) {
      this.#jobs.clear();
      this.#seen.clear();
    }
    this.#jobs.set(job.id, job);
    this.current = job;
    return job;
  }

  send(isClean = true, change: Partial<Job> = {}): Job {
    const job = this.job(isClean, change);
    for (const client of this.clients) this.notify(client, job, isClean);
    return job;
  }

  notify(client: Client, job: Job, isClean: boolean): void {
    const words = Buffer.from(job.previous).swap32().toString('hex');
    const { coinb1, coinb2, branch, version, bits, time } = job;
    const hex = (value: number): string => value.toString(16).padStart(8, '0');
    const merkle = branch.map((one) => one.toString('hex'));
    client.send({
      id: null,
      method: 'mining.notify',
      params: [job.id, words, coinb1, coinb2, merkle, hex(version), bits, hex(time), isClean],
    });
  }

  /** Sets the difficulty of later jobs, sent as written. */
  setDifficulty(text: string): void {
    this.difficulty = text;
    for (const client of this.clients) client.difficulty(text);
  }

  protected answer({ id, method, params = [] }: Raw, client: Client): void {
    const reply = (result: unknown, error: unknown = null): void => client.send({ id, result, error });
    switch (method) {
      case 'mining.configure':
        if (this.mask === undefined) reply(null, [20, 'unknown method', null]);
        else reply({ 'version-rolling': true, 'version-rolling.mask': this.mask.toString(16).padStart(8, '0') });
        break;
      case 'mining.subscribe':
        reply([[['mining.notify', 'x']], this.extranonce1, this.size]);
        break;
      case 'mining.authorize':
        reply(true);
        client.difficulty(this.difficulty);
        this.notify(client, this.current ?? this.job(), true);
        break;
      case 'mining.submit':
        this.#judge(params, reply);
        break;
      default:
        if (id !== undefined && method !== undefined) reply(null, [20, 'unknown method', null]);
    }
  }

  #judge(params: readonly unknown[], reply: (result: unknown, error?: unknown) => void): void {
    const share = this.#check(params as string[]);
    if (Array.isArray(share)) {
      this.refused.push(share[1]);
      reply(null, share);
      return;
    }
    this.accepted.push(share);
    reply(true);
  }

  /** The share, or the error to answer with. */
  #check(params: readonly string[]): Accepted | [code: number, why: string, more: null] {
    const [, jobId = '', extranonce2 = '', time = '', nonce = '', bits = '00000000'] = params;
    const job = this.#jobs.get(jobId);
    if (!job) return [21, 'Job not found', null];
    if (!/^[0-9a-f]*$/.test(extranonce2) || extranonce2.length !== 2 * job.size) return [20, 'bad extranonce2', null];
    const ntime = Number.parseInt(time, 16);
    if (!(ntime >= job.time && ntime <= job.time + 7000)) return [20, 'time out of range', null];
    const [mask, rolled] = [this.mask ?? 0, Number.parseInt(bits, 16)];
    if ((rolled & ~mask) !== 0) return [20, 'version bits outside of the mask', null];
    const key = params.slice(1).join();
    if (this.#seen.has(key)) return [22, 'Duplicate share', null];
    this.#seen.add(key);
    let root = sha256d(Buffer.from(job.coinb1 + job.extranonce1 + extranonce2 + job.coinb2, 'hex'));
    for (const beside of job.branch) root = sha256d(Buffer.concat([root, beside]));
    const header = Buffer.alloc(80);
    const version = ((job.version & ~mask) | rolled) >>> 0;
    header.writeUInt32LE(version, 0);
    header.set(job.previous, 4);
    header.set(root, 36);
    header.writeUInt32LE(ntime, 68);
    header.writeUInt32LE(Number.parseInt(job.bits, 16), 72);
    header.writeUInt32LE(Number.parseInt(nonce, 16), 76);
    const digest = sha256d(header);
    if (numberOf(digest) > job.target) return [23, 'Low difficulty share', null];
    return { job: job.id, hash: display(digest), extranonce2, version, time: ntime };
  }
}

/** floor(0xffff · 2^208 / d) for a decimal fraction d. */
export function shareTarget(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  const all = ((0xffffn << 208n) * 10n ** BigInt(fraction.length)) / BigInt(whole + fraction);
  const max = (1n << 256n) - 1n;
  return all < max ? all : max;
}
