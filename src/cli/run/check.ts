import type { CheckModule, VerifyResult } from '../../engine/index.js';
import { importModule } from './module.js';

/**
 * Wraps the check that a user's file names, for the engine's check thread. Each thread has its own module loading, so the
 * check is loaded here as the file itself was: with TypeScript, and with `millrace` by name.
 */
export function wrapCheck(verify: CheckModule): CheckModule {
  const { module, name, data } = verify;
  return { module: import.meta.url, name: 'check', data: { module: String(module), name, data } };
}

export async function check(given: unknown, { module, name, data }: CheckModule): Promise<VerifyResult> {
  const loaded = await importModule(String(module));
  const made = loaded[name];
  if (typeof made !== 'function') throw new TypeError(`${module} does not export a function called ${name}`);
  return (await made(given, data)) as VerifyResult;
}
