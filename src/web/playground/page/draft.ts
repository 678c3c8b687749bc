/**
 * The last code that ran, kept for the next visit. A browser may forbid storage: then there is no draft.
 */
const KEY = 'millrace-playground';

export function keepDraft(code: string): void {
  try {
    localStorage.setItem(KEY, code);
  } catch {
    // Forbidden, or full.
  }
}

export function draft(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
