/**
 * Removes credentials from everything that is shown or logged: messages, events, errors, traces, arguments. It finds them
 * by form (an address with a name and a password, an option or a field whose name marks its value as secret) and by value
 * (a text that was given as a credential is hidden wherever it appears). Servers choose much of what comes here, so the
 * time is linear in the length of the text.
 */
export function redact(text: string): string {
  let shown = text;
  if (text.includes('://')) shown = shown.replace(IDENTITY, `${HIDDEN}@`);
  // A value stands behind a sign or a space.
  if (TELLING.test(shown) && /[=:\s]/.test(shown)) shown = shown.replace(ASSIGNED, `$1${HIDDEN}`);
  for (const secret of secrets) if (shown.includes(secret)) shown = shown.replaceAll(secret, HIDDEN);
  return shown;
}

export const HIDDEN = '…';

/** True if the value of an option, a field or a variable of this name is a secret. */
export const isSecretName = (name: string): boolean => TELLING.test(name);

/** Hides a value from now on, wherever it appears. */
export function keepSecret(value: string): void {
  // Fewer than four characters are part of many words: hiding them would make everything unreadable.
  if (value.length >= 4) secrets.add(value);
  keepPassword(value);
}

/** Hides the passwords of the addresses in a text: a path that is made of an address no longer looks like one. */
function keepPassword(text: string): void {
  for (const [, password = ''] of text.matchAll(/:\/\/[^\s/@:]*:([^\s/@]{4,})@/g)) secrets.add(password);
}

/** Hides the credentials of the command line and of the environment, in whatever form they appear later. */
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

/** An argument list that can be shown and stored. */
export function redactArguments(args: readonly string[]): string[] {
  return args.map((arg, at) => (isValueOfSecret(args, at) ? HIDDEN : redact(arg)));
}

function isValueOfSecret(args: readonly string[], at: number): boolean {
  const before = args[at - 1] ?? '';
  return /^-{1,2}[^=]*$/.test(before) && isSecretName(before) && !(args[at] ?? '').startsWith('-');
}

const TELLING = /pass(?!ed|es|ing)|secret|token|credential|api-?_?key|private-?_?key|authorization/i;
/** The name and the password in an address, or a name alone: pools take wallets as names. */
const IDENTITY = /(?<=\w[+.-]*:\/\/)[^\s/@"']+@/g;
/**
 * A name of a secret, and its value: `--token VALUE`, `password=VALUE`, `"api_key": "VALUE"`. A match begins where a word
 * begins, and the lookahead that searches the word for a name is not entered again: each character is read a few times,
 * not once for each other one.
 */
const ASSIGNED =
  /(?<![\w-])(?=[\w-]*?(?:passw(?:or)?d|passphrase|\bpass\b|secret|token|credential|api[-_]?key|private[-_]?key|authorization(?![\w-])))([\w-]+(?![\w-])(?:["']?\s*[=:]\s*(?:(?:bearer|basic)\s+)?["']?|(?<=--[\w-]*)\s+["']?))[^\s"',;&]+/gi;

const secrets = new Set<string>();
