import type { ContributionData } from '../messages.js';
import { NOTHING } from '../messages.js';

/**
 * What the page keeps over a reload, in this tab only: another tab is another worker, and a tab that is closed is gone.
 */
export interface Kept {
  readonly invite: string;
  /** The name of this tab's worker. */
  readonly name: string;
  /** It has been started, and not stopped since. */
  readonly isWanted: boolean;
  readonly device: string | undefined;
  readonly share: number;
  readonly pausesHidden: boolean;
  /** Up to the last load of the page. */
  readonly done: ContributionData;
}

/** Takes the invite out of the address, so that neither the history nor a screenshot has it. */
export function takeKept(): Kept | undefined {
  const line = decodeURIComponent(location.hash.slice(1));
  if (line !== '') history.replaceState(null, '', location.pathname + location.search);
  const before = readKept();
  if (line === '' || before?.invite === line) return before;
  const name = `page_${randomHex(4)}`;
  const fresh = { isWanted: false, device: undefined, share: 1, pausesHidden: false, done: NOTHING };
  const kept = { invite: line, name, ...fresh };
  keep(kept);
  return kept;
}

export function keep({ done, ...rest }: Kept): void {
  sessionStorage.setItem(KEY, JSON.stringify({ ...rest, done: { ...done, indices: String(done.indices) } }));
}

export const forget = (): void => sessionStorage.removeItem(KEY);

function readKept(): Kept | undefined {
  const text = sessionStorage.getItem(KEY);
  if (text === null) return undefined;
  const { done, ...rest } = JSON.parse(text) as Kept & { readonly done: { readonly indices: string } };
  return { ...rest, done: { ...done, indices: BigInt(done.indices) } };
}

const randomHex = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const KEY = 'millrace-fleet';
