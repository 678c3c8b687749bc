import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFileSync } from '../device/temporary.js';
import type { TuningRecord } from '../engine/tune.js';
import type { TuningAbout, TuningShelf } from '../engine/tune-known.js';
import type { Kernel } from '../kernel/index.js';
import { programText } from './identity.js';
import { newestLedger, TUNED } from './set-aside.js';
import { openStore, type Store, type StoreOptions } from './store.js';
import { digestOf } from './text.js';
import type { TuningKey } from './tuning.js';

/**
 * Tunings in the ledger of a data directory. Opening it takes 100 ms, and a kernel's text as long again, which a command
 * that is done in half a second does not have: so a small file beside the ledger says what there are tunings of, and
 * only who finds himself there looks further.
 */
export class LedgerTunings implements TuningShelf {
  readonly #directory: string;
  readonly #options: StoreOptions;

  constructor(directory: string, options: StoreOptions = {}) {
    this.#directory = directory;
    this.#options = options;
  }

  async find(about: TuningAbout): Promise<TuningRecord | undefined> {
    const ledger = newestLedger(this.#directory);
    if (!existsSync(join(this.#directory, ledger))) return undefined;
    const known = readIndex(this.#directory, ledger);
    if (known?.includes(lineOf(about)) === false) return undefined;
    return this.#with(async (store) => {
      if (!known) await this.#index(store);
      const found = await store.tuning(keyOf(about));
      return (found?.timings as TuningRecord | null | undefined) ?? undefined;
    });
  }

  async keep(about: TuningAbout, record: TuningRecord | undefined): Promise<void> {
    await this.#with(async (store) => {
      await store.keepTuning(keyOf(about), record ?? null);
      await this.#index(store);
    });
  }

  /** From the ledger itself, each time: whatever other processes have kept is in it, too. */
  async #index(store: Store): Promise<void> {
    const ledger = newestLedger(this.#directory);
    const keys = await store.tuningKeys();
    const lines = keys.map(({ kernel, device, driver }) =>
      lineOf({ workload: kernel.slice(0, kernel.lastIndexOf(' ')), device, driver }),
    );
    writeIndex(this.#directory, { ledger, tuned: [...new Set(lines)] });
  }

  async #with<T>(use: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(this.#directory, this.#options);
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }
}

/** What there are tunings of, in which ledger. */
interface Index {
  readonly ledger: string;
  readonly tuned: readonly string[];
}

const lineOf = ({ workload, device, driver }: Pick<TuningAbout, 'workload' | 'device' | 'driver'>): string =>
  `${workload} on ${device} (${driver})`;

/** Undefined where there is none, or one of another ledger: then the ledger is asked. */
function readIndex(directory: string, ledger: string): readonly string[] | undefined {
  try {
    const index = JSON.parse(readFileSync(join(directory, TUNED), 'utf8')) as Index;
    return index.ledger === ledger && Array.isArray(index.tuned) ? index.tuned : undefined;
  } catch {
    return undefined;
  }
}

/** Whole or not at all. Where it cannot be written, the next one asks the ledger again. */
function writeIndex(directory: string, index: Index): void {
  try {
    replaceFileSync(join(directory, TUNED), `${JSON.stringify(index, undefined, 1)}\n`);
  } catch {
    rmSync(join(directory, TUNED), { force: true });
  }
}

function keyOf({ workload, kernels, device, driver, candidates }: TuningAbout): TuningKey {
  const text = kernels.map(kernelDigest).join(' ');
  return { kernel: `${workload} ${digestOf(text)}`, device, driver, candidates: digestOf(candidates) };
}

/** A kernel's text takes 50 ms and more; kernels last as long as the process. */
const digests = new WeakMap<Kernel, string>();

function kernelDigest(kernel: Kernel): string {
  const digest = digests.get(kernel) ?? digestOf(programText(kernel));
  digests.set(kernel, digest);
  return digest;
}
