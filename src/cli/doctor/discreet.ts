import { homedir } from 'node:os';
import { redact } from '../../console/output/redact.js';
import type { Finding } from '../../device/registry.js';

/** A finding that can be shown to others: the home folder is ~, and addresses lose their names and passwords. */
export function discreet(finding: Finding): Finding {
  const { advice } = finding;
  return { ...finding, found: withoutSecrets(finding.found), ...(advice && { advice: withoutSecrets(advice) }) };
}

export function withoutSecrets(text: string, home: string = homedir()): string {
  const noCredentials = redact(text);
  if (home === '' || home === '/') return noCredentials;
  const folder = home.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return noCredentials.replaceAll(new RegExp(`${folder}(?![\\w.-])`, 'g'), '~');
}

/** Variables whose values are nobody's business. */
export const isSecret = (name: string): boolean => /PASS|SECRET|TOKEN|KEY|AUTH|CREDENTIAL|USER|WALLET/i.test(name);
