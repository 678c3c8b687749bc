/** A word for a shell, whatever it holds. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
