export { type MinedHeader, type MineOptions, mineHeader } from './job/mine.js';
export { merkleRoot, targetFromBits } from './kernel/reference.js';
export type { VersionRolling } from './kernel/version-rolling.js';
