/** The separators between words. The numbers are those of the C interface. */
export const layouts = {
  newline: { id: 0, separator: '\n' },
  nul: { id: 1, separator: '\0' },
  packed: { id: 2, separator: '' },
} as const;

export type Layout = keyof typeof layouts;

export const layoutNames = Object.keys(layouts) as readonly Layout[];

export const separatorOf = (layout: Layout): string => layouts[layout].separator;
