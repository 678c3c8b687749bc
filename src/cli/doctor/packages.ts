import { type OptionalPackage, optionalPackages, whyNotInstalled } from '../../device/packages.js';
import type { Diagnostic } from '../../device/registry.js';

/** Lists the packages that may have been left out when Millrace was installed. */
export function packageFindings(
  missing = (name: OptionalPackage) => whyNotInstalled(name) !== undefined,
): Diagnostic[] {
  return Object.entries(optionalPackages).map(([name, use]) =>
    missing(name as OptionalPackage)
      ? { what: name, state: 'missing', found: `not installed; needed for ${use}`, advice: `npm install ${name}` }
      : { what: name, state: 'ok', found: `installed; for ${use}` },
  );
}
