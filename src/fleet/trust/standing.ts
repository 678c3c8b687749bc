import { fieldReader } from '../../network/fields.js';
import type { PlainValue } from '../manifest/index.js';
import type { StoredChanges, StoredValues } from './stored.js';

/**
 * How far a worker is believed.
 *
 *   own       invited as trusted: its results count at once
 *   trusted   its results have agreed with those of others often enough: samples of them are audited
 *   new       everything that it does is done again by another worker
 *   barred    it was proven wrong, or revoked: it gets no work, and what it did is done again
 */
export type Standing = 'own' | 'trusted' | 'new' | 'barred';

/** A worker's identity: several processes of one user are one. */
export type Identity = string;

/** Agreements that a worker needs before samples are enough. */
export const MIN_AGREEMENTS = 10;
/** Witnesses and hits in these agreements: a report without any agrees with everything. */
export const MIN_EVIDENCE = 80;
/** Workers that it has agreed with, unless one of them is `own`: two liars that agree are not trusted for that. */
const MIN_PARTNERS = 3;

/** What is known of the workers of a fleet, across jobs. */
export class Standings {
  readonly #isOwn: (worker: Identity) => boolean;
  readonly #isRevoked: (worker: Identity) => boolean;
  readonly #records = new Map<Identity, Conduct>();
  /** Workers of whom something new is to be stored. */
  readonly #changed = new Set<Identity>();

  /** `stored` is what earlier coordinators knew of the workers. */
  constructor(
    isOwn: (worker: Identity) => boolean,
    stored: StoredValues = new Map(),
    isRevoked: (worker: Identity) => boolean = () => false,
  ) {
    this.#isOwn = isOwn;
    this.#isRevoked = isRevoked;
    for (const [worker, value] of stored) this.#records.set(worker, readConduct(value));
  }

  get hasChanges(): boolean {
    return this.#changed.size > 0;
  }

  /** Returns what has to be stored, since the last call. */
  takeChanges(): StoredChanges {
    const changes: StoredChanges = new Map();
    for (const worker of this.#changed) {
      const { partners, ...record } = this.#record(worker);
      changes.set(worker, { ...record, partners: [...partners] });
    }
    this.#changed.clear();
    return changes;
  }

  of(worker: Identity): Standing {
    const record = this.#records.get(worker);
    if (record?.isBarred || this.#isRevoked(worker)) return 'barred';
    if (this.#isOwn(worker)) return 'own';
    return record?.isTrusted ? 'trusted' : 'new';
  }

  /** Whether an audit by this worker is enough. */
  isReliable(worker: Identity): boolean {
    const standing = this.of(worker);
    return standing === 'own' || standing === 'trusted';
  }

  /** Agreements and the evidence in them. */
  conduct(worker: Identity): { readonly agreements: number; readonly evidence: number } {
    return this.#records.get(worker) ?? { agreements: 0, evidence: 0 };
  }

  /** Records that two workers reported the same for a range, with this number of witnesses and hits. */
  agree(one: Identity, other: Identity, evidence: number): void {
    this.#credit(one, other, evidence);
    this.#credit(other, one, evidence);
  }

  bar(worker: Identity): void {
    this.#record(worker).isBarred = true;
    // A machine of the fleet's own may have been repaired before the next start.
    if (!this.#isOwn(worker)) this.#changed.add(worker);
  }

  #credit(worker: Identity, partner: Identity, evidence: number): void {
    if (evidence === 0) return;
    const record = this.#record(worker);
    record.agreements++;
    record.evidence += evidence;
    record.metOwn ||= this.of(partner) === 'own';
    if (record.partners.size < MIN_PARTNERS) record.partners.add(partner);
    record.isTrusted ||=
      record.agreements >= MIN_AGREEMENTS &&
      record.evidence >= MIN_EVIDENCE &&
      (record.metOwn || record.partners.size >= MIN_PARTNERS);
    if (!this.#isOwn(worker)) this.#changed.add(worker);
  }

  #record(worker: Identity): Conduct {
    let record = this.#records.get(worker);
    if (record === undefined) {
      record = { agreements: 0, evidence: 0, partners: new Set(), metOwn: false, isTrusted: false, isBarred: false };
      this.#records.set(worker, record);
    }
    return record;
  }
}

function readConduct(value: PlainValue): Conduct {
  const { agreements, evidence, partners, metOwn, isTrusted, isBarred } = read.object(value, 'a worker');
  return {
    agreements: read.integer(agreements, 'agreements', 0, Number.MAX_SAFE_INTEGER),
    evidence: read.integer(evidence, 'evidence', 0, Number.MAX_SAFE_INTEGER),
    partners: new Set(read.list(partners, 'partners', MIN_PARTNERS).map(String)),
    metOwn: metOwn === true,
    isTrusted: isTrusted === true,
    isBarred: isBarred === true,
  };
}

const read = fieldReader('the state of a fleet', 'restore a backup of the coordinator');

interface Conduct {
  agreements: number;
  evidence: number;
  readonly partners: Set<Identity>;
  metOwn: boolean;
  isTrusted: boolean;
  isBarred: boolean;
}
