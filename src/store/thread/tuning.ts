import { decode, encode } from '../encoding.js';
import { type Connection, LedgerDamagedError } from './connection.js';
import { insertSql, isIntact, selectSql, type TuningRow, valuesOf, withChecksum } from './rows.js';

/** Identifies a tuning. A new driver, another device or another kernel is another key. */
export interface TuningKey {
  /** A digest of the kernel. */
  readonly kernel: string;
  readonly device: string;
  readonly driver: string;
  /** A digest of the candidates, or their text. */
  readonly candidates: string;
}

export interface TuningResult {
  readonly timings: unknown;
  readonly createdMs: number;
}

/** A tuning with its key. */
export interface StoredTuning extends TuningKey, TuningResult {}

/** Returns every tuning. A damaged entry counts as missing: measuring again costs a minute. */
export function allTunings(connection: Connection): StoredTuning[] {
  return allRows(connection)
    .filter((row) => isIntact('tuning', row))
    .map(({ kernel, device, driver, candidates, timings, made_ms }) => ({
      ...{ kernel, device, driver, candidates },
      timings: decode(timings),
      createdMs: made_ms,
    }));
}

export const isSameKey = (a: TuningKey, b: TuningKey): boolean =>
  a.kernel === b.kernel && a.device === b.device && a.driver === b.driver && a.candidates === b.candidates;

/** Throws `LedgerDamagedError` if a tuning does not match its checksum. */
export function checkTunings(connection: Connection): void {
  if (!allRows(connection).every((row) => isIntact('tuning', row))) {
    throw new LedgerDamagedError('a tuning does not match its checksum');
  }
}

const allRows = (connection: Connection): TuningRow[] =>
  connection.all(selectSql('tuning', '')) as unknown as TuningRow[];

/** Replaces the tuning of the key. Must run inside a transaction. */
export function replaceTuning(connection: Connection, key: TuningKey, timings: unknown, nowMs: number): void {
  const { kernel, device, driver, candidates } = key;
  connection.run(
    'DELETE FROM tuning WHERE kernel = ? AND device = ? AND driver = ? AND candidates = ?',
    kernel,
    device,
    driver,
    candidates,
  );
  const row = withChecksum('tuning', { kernel, device, driver, candidates, timings: encode(timings), made_ms: nowMs });
  connection.run(insertSql('tuning'), ...valuesOf('tuning', row));
}
