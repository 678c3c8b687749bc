/** The text of each worker of a page, by the name of its file. The build writes the texts (scripts/bundle.mjs). */
export const workerTexts: Readonly<Record<string, string>> = {};
