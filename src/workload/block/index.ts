export { type MinedHeader, type MineOptions, mineHeader } from './mine.js';
export { merkleRoot, targetFromBits } from './reference.js';
export type { Rolling } from './versions.js';
