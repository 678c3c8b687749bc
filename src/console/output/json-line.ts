import { redact } from './redact.js';
import { escapedJson } from './sanitize.js';
import { HIDDEN, isSecretName } from './secret-forms.js';

/**
 * Encodes a value as a line of JSON. A bigint becomes a number if that is exact, otherwise a decimal string. Credentials
 * are hidden.
 */
export function jsonLine(value: unknown): string {
  const json = JSON.stringify(value, (key, field: unknown) => {
    if (typeof field === 'string') return isSecretName(key) ? HIDDEN : redact(field);
    if (typeof field !== 'bigint') return field;
    return field <= Number.MAX_SAFE_INTEGER && field >= Number.MIN_SAFE_INTEGER ? Number(field) : field.toString();
  });
  return escapedJson(json);
}
