import type { Engine } from '../../../engine/index.js';
import { search } from '../../../engine/index.js';
import type { ScanOptions } from '../../mining/source.js';
import { maxNonces } from '../job/solve.js';
import { midstate } from '../kernel/midstate.js';
import { isTopWordZero } from '../kernel/nonce-flow.js';
import { headerWords, targetWords } from '../kernel/scan.js';
import { cacheLast, versionKernel, versionsPerItem } from '../kernel/version-rolling.js';
import {
  type Evaluation,
  evaluate,
  type HeaderFields,
  HeaderSpace,
  prefixOf,
  versionCount,
  type Work,
} from './work.js';

/** A header that meets the share target, checked. */
export interface Share extends HeaderFields, Evaluation {
  readonly work: Work;
}

/**
 * Mines a work on all devices of an engine. Its whole space is one search, of which devices take disjoint pieces, so
 * that no header is tried twice. Yields shares as they are found, each recomputed on the CPU; a wrong one counts as a
 * fault of its device. Ends with the signal, or after the last header.
 */
export async function* scanWork(engine: Engine, work: Work, options: ScanOptions): AsyncGenerator<Share> {
  const { signal, firstSegment = 0n, onProgress, onStart, onSegment, onSpace } = options;
  const perItem = versionsPerItem(engine, {}, versionCount(work.mask));
  const order = new HeaderSpace(work, perItem, firstSegment);
  // The kernel's hits are strictly below the limit. At the largest target the hash of all ones is left out.
  const limit = work.target + 1n < MAX_TARGET ? work.target + 1n : MAX_TARGET;
  const values = cacheLast((row: bigint) => headerValues(work, order, row << 32n));
  let isStarted = false;
  onSpace?.({ start: 0n, length: order.length });
  const found = search(versionKernel(isTopWordZero(limit), perItem), {
    engine,
    name: 'block mine',
    space: order.length,
    job: { target: targetWords(limit) },
    chunk: ({ start }) => {
      if (!isStarted) onStart?.();
      isStarted = true;
      onSegment?.(order.segmentAt(start) + 1n);
      return values(start >> 32n);
    },
    mode: 'arrival',
    max: maxNonces(limit * BigInt(perItem)),
    checked: false,
    verify: ({ index, nonce, version: which }) => {
      if (BigInt(nonce) !== BigInt.asUintN(32, index)) return `but gave it as nonce ${nonce}`;
      if (which >= perItem) return `but gave it as version ${which} of ${perItem}`;
      const { isShare, hash } = evaluate(work, order.at(index, which));
      return isShare || `but its hash ${hash} is above the target`;
    },
    onProgress: ({ done }) => onProgress?.(done * BigInt(perItem)),
    aim: 'interactive',
    signal,
  });
  try {
    for await (const { index, version } of found) {
      const tried = order.at(index, version);
      yield { ...tried, ...evaluate(work, tried), work };
    }
  } catch (error) {
    // An abort is not a failure.
    if (!signal.aborted) throw error;
  }
}

const MAX_TARGET = (1n << 256n) - 1n;

/** Chunk values for all nonces of one group of versions: the states after the first block, and the header's tail. */
function headerValues(work: Work, order: HeaderSpace, index: bigint): { states: number[]; tail: number[] } {
  const all = Array.from({ length: order.perItem }, (_, which) => order.at(index, which));
  const [first] = all;
  if (first === undefined) return { states: [], tail: [] };
  // They share one merkle root: only versions differ.
  const words = headerWords(prefixOf(work, first));
  const states = all.flatMap(({ version }) => {
    const bytes = new DataView(new ArrayBuffer(4));
    bytes.setUint32(0, version, true);
    return midstate([bytes.getUint32(0), ...words.slice(1, 16)]);
  });
  return { states, tail: words.slice(16) };
}
