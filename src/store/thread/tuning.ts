import { spell, unspell } from '../encoding.js';
import { type Connection, Damaged } from './connection.js';
import { insertion, isWhole, marked, selection, type TuningRow, valuesOf } from './rows.js';

/** Identifies a tuning. A new driver, another device or another kernel is another key. */
export interface TuningKey {
  /** A digest of the kernel. */
  readonly kernel: string;
  readonly device: string;
  readonly driver: string;
  /** A digest of the candidates, or their text. */
  readonly candidates: string;
}

export interface Tuning {
  readonly timings: unknown;
  readonly madeMs: number;
}

/** A tuning with its key. */
export interface KeptTuning extends TuningKey, Tuning {}

/** Returns every tuning. A damaged entry counts as missing: measuring again costs a minute. */
export function allTunings(connection: Connection): KeptTuning[] {
  return allRows(connection)
    .filter((row) => isWhole('tuning', row))
    .map(({ kernel, device, driver, candidates, timings, made_ms }) => ({
      ...{ kernel, device, driver, candidates },
      timings: unspell(timings),
      madeMs: made_ms,
    }));
}

export const isSameKey = (a: TuningKey, b: TuningKey): boolean =>
  a.kernel === b.kernel && a.device === b.device && a.driver === b.driver && a.candidates === b.candidates;

/** Throws `Damaged` if a tuning does not match its checksum. */
export function checkTunings(connection: Connection): void {
  if (!allRows(connection).every((row) => isWhole('tuning', row))) {
    throw new Damaged('a measurement is not as it was written');
  }
}

const allRows = (connection: Connection): TuningRow[] =>
  connection.all(selection('tuning', '')) as unknown as TuningRow[];

/** Replaces the tuning of the key. Must run inside a transaction. */
export function putTuning(connection: Connection, key: TuningKey, timings: unknown, nowMs: number): void {
  const { kernel, device, driver, candidates } = key;
  connection.run(
    'DELETE FROM tuning WHERE kernel = ? AND device = ? AND driver = ? AND candidates = ?',
    kernel,
    device,
    driver,
    candidates,
  );
  const row = marked('tuning', { kernel, device, driver, candidates, timings: spell(timings), made_ms: nowMs });
  connection.run(insertion('tuning'), ...valuesOf('tuning', row));
}
