import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fieldReader } from '../../network/fields.js';
import { manifestId } from '../manifest/index.js';
import { writeSafely } from '../safe-file.js';
import { StateFile } from './state-file.js';

/** A coordinator's own files: who the fleet is, the jobs that are not over, and their attachments. Private. */
export class FleetFiles {
  readonly #folder: string;
  readonly fleet: string;
  /** The key of lease tokens. */
  readonly secret: Uint8Array;
  readonly #secretText: string;
  #term: number;
  #state: StateFile | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    for (const part of ['', 'jobs', 'parts']) mkdirSync(join(folder, part), { recursive: true, mode: 0o700 });
    const { fleet, secret, term } = readIdentity(folder) ?? newIdentity();
    this.fleet = fleet;
    this.secret = Buffer.from(secret, 'hex');
    this.#secretText = secret;
    this.#term = term;
    if (!existsSync(join(folder, IDENTITY))) this.#save();
  }

  /** Returns a term that is larger than `seen` and all earlier ones of this machine. */
  startTerm(seen = 0): number {
    this.#term = Math.max(this.#term, seen) + 1;
    this.#save();
    return this.#term;
  }

  get state(): StateFile {
    this.#state ??= new StateFile(join(this.#folder, STATE));
    return this.#state;
  }

  /** Where all of these files are. */
  get folder(): string {
    return this.#folder;
  }

  get serverFolder(): string {
    return join(this.#folder, 'nats');
  }

  /** Signed manifests of jobs that are not over, by id. */
  jobs(): Map<string, Uint8Array> {
    const names = readdirSync(join(this.#folder, 'jobs')).filter((name) => /^[0-9a-f]{64}$/.test(name));
    return new Map(names.map((name) => [name, readFileSync(join(this.#folder, 'jobs', name))]));
  }

  saveJob(id: string, signed: Uint8Array): void {
    writeSafely(join(this.#folder, 'jobs', id), signed);
  }

  /** Removes a job that is over, with what is stored of it. */
  removeJob(id: string): void {
    rmSync(join(this.#folder, 'jobs', id), { force: true });
    this.state.drop(id);
  }

  has(digest: string): boolean {
    return existsSync(this.#part(digest));
  }

  part(digest: string): Uint8Array {
    return readFileSync(this.#part(digest));
  }

  /** Stores an attachment. Its bytes are those of its name. */
  savePart(bytes: Uint8Array): void {
    const path = this.#part(manifestId(bytes));
    if (!existsSync(path)) writeSafely(path, bytes);
  }

  #save(): void {
    const { fleet } = this;
    const identity = { fleet, secret: this.#secretText, term: this.#term };
    writeSafely(join(this.#folder, IDENTITY), Buffer.from(JSON.stringify(identity)));
  }

  #part(digest: string): string {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new RangeError('not a digest');
    return join(this.#folder, 'parts', digest);
  }
}

/** What another process on this machine needs for an invite. Undefined if no fleet was served from here. */
export function readIdentity(folder: string): Identity | undefined {
  const path = join(folder, IDENTITY);
  if (!existsSync(path)) return undefined;
  const read = fieldReader(`the file ${path}`, 'remove it: the fleet is then a new one, with new invites');
  const value = read.object(JSON.parse(readFileSync(path, 'utf8')), 'the whole');
  return {
    fleet: read.text(value.fleet, 'fleet', 40),
    secret: read.hex(value.secret, 'secret', { min: 32, max: 32 }),
    term: read.integer(value.term, 'term', 0, Number.MAX_SAFE_INTEGER),
  };
}

interface Identity {
  readonly fleet: string;
  readonly secret: string;
  readonly term: number;
}

const newIdentity = (): Identity => ({
  fleet: randomBytes(6).toString('hex'),
  secret: randomBytes(32).toString('hex'),
  term: 0,
});

const IDENTITY = 'fleet.json';
const STATE = 'state.jsonl';
