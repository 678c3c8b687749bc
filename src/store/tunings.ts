import { existsSync } from 'node:fs';
import type { TuningRecord } from '../engine/tune.js';
import type { TuningAbout, TuningShelf } from '../engine/tune-known.js';
import type { Kernel } from '../kernel/index.js';
import { programText } from './identity.js';
import { newestLedger } from './salvage.js';
import { openStore, type Store } from './store.js';
import { digestOf } from './text.js';
import type { TuningKey } from './tuning.js';

/**
 * Tunings in the ledger of a data directory. The ledger is opened when it is asked for something, and only where there
 * is one: a job on a machine where nothing was tuned does not even look at kernels' texts.
 */
export class LedgerTunings implements TuningShelf {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async find(about: TuningAbout): Promise<TuningRecord | undefined> {
    if (!existsSync(`${this.#directory}/${newestLedger(this.#directory)}`)) return undefined;
    const found = await this.#with((store) => store.tuning(keyOf(about)));
    return (found?.timings as TuningRecord | null | undefined) ?? undefined;
  }

  async keep(about: TuningAbout, record: TuningRecord | undefined): Promise<void> {
    await this.#with((store) => store.keepTuning(keyOf(about), record ?? null));
  }

  async #with<T>(use: (store: Store) => Promise<T>): Promise<T> {
    const store = await openStore(this.#directory);
    try {
      return await use(store);
    } finally {
      await store.close();
    }
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
