/** How much is written to stderr: errors; also warnings; also progress; also explanations. */
export const levels = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof levels)[number];

/** True if messages of a level are shown with the threshold of `--log`. */
export const isLevelShown = (level: Level, threshold: Level): boolean =>
  levels.indexOf(level) <= levels.indexOf(threshold);
