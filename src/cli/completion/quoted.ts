/** Quotes any text as one word for a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
