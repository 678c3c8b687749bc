/** Returns eight hex digits. */
export const hex32 = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');
