import type { WorkloadBench } from '../bench/case.js';
import { blockCases } from './block/bench/cases.js';
import { encodeCases } from './encode/bench/cases.js';
import { gapsCases } from './gaps/bench/cases.js';
import { uhashCases } from './uhash/bench/cases.js';
import { wordsCases } from './words/bench/cases.js';

/** Cases that `millrace bench` measures, in the order of its table. */
export const benchedWorkloads: readonly WorkloadBench[] = [blockCases, wordsCases, uhashCases, encodeCases, gapsCases];
