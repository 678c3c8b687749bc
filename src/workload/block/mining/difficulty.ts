/**
 * The target of a pool's difficulty: floor(0xffff · 2^208 / d), in whole numbers. The difficulty is taken as the decimal
 * fraction that the server wrote, not as the nearest binary one: 0.1 is a tenth. It must be above 0.
 */
export function targetOfDifficulty(difficulty: number): bigint {
  // The shortest text that parses to this number: what the server wrote, up to 15 digits.
  const [, whole = '', fraction = '', power = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(difficulty)) ?? [];
  const digits = BigInt(whole + fraction);
  const scale = fraction.length - Number(power);
  const target =
    scale >= 0
      ? (DIFFICULTY_1_TARGET * 10n ** BigInt(scale)) / digits
      : DIFFICULTY_1_TARGET / (digits * 10n ** BigInt(-scale));
  return target < MAX_TARGET ? target : MAX_TARGET;
}

/** The difficulty of a target, for display. */
export const difficultyOf = (target: bigint): number =>
  target === 0n
    ? Number.POSITIVE_INFINITY
    : Number((DIFFICULTY_1_TARGET << 32n) / target) / 2 ** 32 || Number(DIFFICULTY_1_TARGET) / Number(target);

/** Expected number of hashes. */
export const expectedHashes = (target: bigint): number => 2 ** 256 / (Number(target) + 1);

/** The target of difficulty 1. */
const DIFFICULTY_1_TARGET = 0xffffn << 208n;
const MAX_TARGET = (1n << 256n) - 1n;
