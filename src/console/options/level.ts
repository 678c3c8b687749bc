/** How much is written to stderr: errors; also warnings; also progress; also explanations. */
export const levels = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof levels)[number];

/** True if a message of level `word` is shown at level `at`. */
export const isLevelShown = (level: Level, threshold: Level): boolean =>
  levels.indexOf(level) <= levels.indexOf(threshold);
