/** How much is told on stderr: errors only, warnings too, how the work goes, why it goes so. */
export const levels = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof levels)[number];

/** Whether a word of that level is told at this one. */
export const isTold = (word: Level, at: Level): boolean => levels.indexOf(word) <= levels.indexOf(at);
