import { homedir } from 'node:os';
import { redact } from '../../console/output/redact.js';
import type { Diagnostic } from '../../device/registry.js';

/**
 * Returns a finding that can be published: the home folder becomes ~, and names and passwords in addresses are hidden.
 */
export function withoutPrivateData(finding: Diagnostic): Diagnostic {
  const { advice } = finding;
  return { ...finding, found: withoutSecrets(finding.found), ...(advice && { advice: withoutSecrets(advice) }) };
}

export function withoutSecrets(text: string, home: string = homedir()): string {
  const noCredentials = redact(text);
  if (home === '' || home === '/') return noCredentials;
  const folder = home.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return noCredentials.replaceAll(new RegExp(`${folder}(?![\\w.-])`, 'g'), '~');
}

/** True if a variable's value is private. */
export const isSecret = (name: string): boolean => /PASS|SECRET|TOKEN|KEY|AUTH|CREDENTIAL|USER|WALLET/i.test(name);
