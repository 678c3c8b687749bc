import type { Lowerings } from '../expr.js';
import { f16Lowering } from './f16.js';
import { i64Lowering } from './i64.js';

export const lowerings: Lowerings = { i64: i64Lowering, f16: f16Lowering };
