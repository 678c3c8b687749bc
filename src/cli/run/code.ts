import { readFileSync, statSync } from 'node:fs';

/**
 * Returns the text of a kernel's file if the playground can open it: it imports nothing but `millrace`. Undefined otherwise.
 */
export function playgroundCode(path: string): string | undefined {
  if (statSync(path).size > MAX_BYTES) return undefined;
  const text = readFileSync(path, 'utf8');
  const modules = Array.from(
    text.matchAll(/\b(?:from|import|require)\b\s*\(?\s*['"`]([^'"`]*)['"`]/g),
    ([, name]) => name,
  );
  return modules.every((name) => name === 'millrace') ? text : undefined;
}

/** The most that the address of a playground holds. */
const MAX_BYTES = 100_000;
