import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { whyNotInstalled } from '../../device/packages.js';
import type { TuningRecord } from '../../engine/tune/tune.js';
import type { TuningStore, TuningSubject } from '../../engine/tune/tuning-store.js';
import type { Kernel } from '../../kernel/index.js';
import { digestOf } from '../encoding.js';
import { programText } from '../identity.js';
import { newestLedger } from '../thread/set-aside.js';
import { isSameKey, type StoredTuning, type TuningKey } from '../thread/tuning.js';
import { openStore, type Store, type StoreOptions } from './store.js';

/**
 * Tunings in the ledger of a data directory, read once. Opening the ledger takes 100 ms, so `load` starts it while
 * devices open. Building a kernel's text takes 50 ms or more, so that is done only if its workload was tuned on the
 * device.
 */
export class LedgerTunings implements TuningStore {
  readonly #directory: string;
  readonly #options: StoreOptions;
  readonly #opened: Promise<Store | undefined> | undefined;
  #stored: Promise<readonly StoredTuning[]> | undefined;

  /** `opened` is the directory's ledger if the caller opens it in any case. The caller closes it. */
  constructor(directory: string, options: StoreOptions = {}, opened?: Promise<Store | undefined>) {
    this.#directory = directory;
    this.#options = options;
    this.#opened = opened;
  }

  /** Starts reading. An error is reported by `find`. */
  load(): void {
    this.#read().catch(() => undefined);
  }

  async find(about: TuningSubject): Promise<TuningRecord | undefined> {
    const { workload, device, driver } = about;
    const kept = await this.#read();
    const own = kept.filter((one) => one.device === device && one.driver === driver);
    if (!own.some(({ kernel }) => kernel.startsWith(`${workload} `))) return undefined;
    const key = tuningKeyOf(about);
    const timings = own.find((one) => isSameKey(one, key))?.timings as TuningRecord | null | undefined;
    return timings ?? undefined;
  }

  async save(about: TuningSubject, record: TuningRecord | undefined): Promise<void> {
    await this.#withStore((store) => store.keepTuning(tuningKeyOf(about), record ?? null));
    this.#stored = undefined;
  }

  #read(): Promise<readonly StoredTuning[]> {
    this.#stored ??= this.#readAll();
    return this.#stored;
  }

  async #readAll(): Promise<readonly StoredTuning[]> {
    const path = join(this.#directory, newestLedger(this.#directory));
    const exists = (await this.#opened) !== undefined || existsSync(path);
    return exists && whyNotInstalled('libsql') === undefined ? this.#withStore((store) => store.tunings()) : [];
  }

  async #withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
    const opened = await this.#opened;
    if (opened) return use(opened);
    const store = await openStore(this.#directory, this.#options);
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  }
}

function tuningKeyOf({ workload, kernels, device, driver, candidates }: TuningSubject): TuningKey {
  const text = kernels.map(kernelDigest).join(' ');
  return { kernel: `${workload} ${digestOf(text)}`, device, driver, candidates: digestOf(candidates) };
}

/** Cached by kernel: kernels live as long as the process. */
const digests = new WeakMap<Kernel, string>();

function kernelDigest(kernel: Kernel): string {
  const digest = digests.get(kernel) ?? digestOf(programText(kernel));
  digests.set(kernel, digest);
  return digest;
}
