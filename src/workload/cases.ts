import type { Benched } from '../bench/case.js';
import { blockCases } from './block/cases.js';
import { encodeCases } from './encode/cases.js';
import { gapsCases } from './gaps/cases.js';
import { uhashCases } from './uhash/cases.js';
import { wordsCases } from './words/cases.js';

/** What `millrace bench` measures, in the order of its table. */
export const benched: readonly Benched[] = [blockCases, wordsCases, uhashCases, encodeCases, gapsCases];
