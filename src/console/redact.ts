/**
 * Takes credentials out of everything that is told: words, events, errors, logs, traces, arguments. Two ways: by form
 * (an address with a name and a password, an option or a field whose name says what it is), and by value (what was given
 * as such a thing is hidden wherever it turns up).
 */
export function redact(text: string): string {
  let shown = text;
  if (text.includes('://')) shown = shown.replace(ADDRESS, `$1${HIDDEN}@`);
  if (TELLING.test(shown)) shown = shown.replace(ASSIGNED, (_, name: string, gap: string) => `${name}${gap}${HIDDEN}`);
  for (const secret of secrets) if (shown.includes(secret)) shown = shown.replaceAll(secret, HIDDEN);
  return shown;
}

export const HIDDEN = '…';

/** Whether the value of something with this name (an option, a field, a variable) is nobody's business. */
export const isSecretName = (name: string): boolean => TELLING.test(name);

/** Hides a value from now on, wherever it turns up. */
export function keepSecret(value: string): void {
  // Less than four characters are in every other word: hiding them would hide nothing, and make everything unreadable.
  if (value.length >= 4) secrets.add(value);
  keepPassword(value);
}

/** Of addresses in a text: a path made of one has lost what tells it from other paths. */
function keepPassword(text: string): void {
  for (const [, password = ''] of text.matchAll(/:\/\/[^\s/@:]*:([^\s/@]{4,})@/g)) secrets.add(password);
}

/** Hides what the command line and the environment give as credentials, in whatever form it is told later. */
export function keepSecretsOf(args: readonly string[], environment: NodeJS.ProcessEnv): void {
  for (const [at, arg] of args.entries()) {
    const [, name = '', value] = /^(--?[^=]+)=([\s\S]*)$/.exec(arg) ?? [];
    if (value !== undefined && isSecretName(name)) keepSecret(value);
    else if (isValueOfSecret(args, at)) keepSecret(arg);
    else keepPassword(arg);
  }
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!name.startsWith('MILLRACE_')) continue;
    if (isSecretName(name)) keepSecret(value);
    else keepPassword(value);
  }
}

/** An argument list that can be shown and kept. */
export function redactArguments(args: readonly string[]): string[] {
  return args.map((arg, at) => (isValueOfSecret(args, at) ? HIDDEN : redact(arg)));
}

function isValueOfSecret(args: readonly string[], at: number): boolean {
  const before = args[at - 1] ?? '';
  return /^-{1,2}[^=]*$/.test(before) && isSecretName(before) && !(args[at] ?? '').startsWith('-');
}

/** A name and a password, or a name alone: pools take wallets as names. */
const ADDRESS = /(\w[\w+.-]*:\/\/)[^\s/@"']+@/g;
const TELLING = /pass(?!ed|es|ing)|secret|token|credential|api-?_?key|private-?_?key|authorization/i;
const ASSIGNED =
  /((?:[\w-]*(?:passw(?:or)?d|passphrase|\bpass\b|secret|token|credential|api[-_]?key|private[-_]?key)[\w-]*|authorization)["']?)(\s*[=:]\s*(?:bearer\s+|basic\s+)?["']?|(?<=--[\w-]*)\s+["']?)[^\s"',;&]+/gi;

const secrets = new Set<string>();
