/**
 * Where a user's file finds this package: in the modules of this process, since a second copy of the language would not see the
 * trace in progress in the first.
 */
export const library: {
  /** The folder of joined modules, if this process runs those. */
  bundle?: string | undefined;
} = {};

/** The package's exports that `scripts/bundle.mjs` joins, and their files in the bundle. */
const files: Readonly<Record<string, string>> = {
  millrace: 'library.js',
  'millrace/kernel': 'language.js',
  'millrace/words': 'words.js',
};

/** Returns the URL of an export in the bundle, or undefined if the package's own resolution applies. */
export function bundledExport(specifier: string, bundle: string | undefined): string | undefined {
  const file = files[specifier];
  return bundle === undefined || file === undefined ? undefined : new URL(file, bundle).href;
}
