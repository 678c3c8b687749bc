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
  const target = scale >= 0 ? (ONE * 10n ** BigInt(scale)) / digits : ONE / (digits * 10n ** BigInt(-scale));
  return target < MOST ? target : MOST;
}

/** The difficulty of a target, for display. */
export const difficultyOf = (target: bigint): number =>
  target === 0n ? Number.POSITIVE_INFINITY : Number((ONE << 32n) / target) / 2 ** 32 || Number(ONE) / Number(target);

/** Expected number of hashes. */
export const hashesFor = (target: bigint): number => 2 ** 256 / (Number(target) + 1);

/** The target of difficulty 1. */
const ONE = 0xffffn << 208n;
const MOST = (1n << 256n) - 1n;
