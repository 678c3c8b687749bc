import { HIDDEN, hideCredentials, isSecretOption } from './secret-forms.js';

/**
 * Removes credentials from everything that is shown or logged: messages, events, errors, traces, arguments. It recognizes
 * them by form (`secret-forms.ts`) and by value: a text that was given as a credential is hidden wherever it appears.
 */
export function redact(text: string): string {
  let shown = hideInvites(hideCredentials(text));
  if (secretPattern?.test(shown)) for (const secret of secrets) shown = shown.split(secret).join(HIDDEN);
  return shown;
}

/** Hides invites to fleets: each is one word. */
const hideInvites = (text: string): string =>
  text.includes(INVITE) ? text.replace(/millrace-fleet-\d+-[\w-]+/g, `${INVITE}${HIDDEN}`) : text;

const INVITE = 'millrace-fleet-';

/**
 * Returns at most `max` characters of a text, redacted. Credentials are hidden before the text is cut: otherwise half a
 * password could be shown.
 */
export function redactStart(text: string, max: number): string {
  const read = text.slice(0, MAX_READ);
  const shown = redact(read);
  // A secret that extends past the part that was read is not hidden; it is in the last characters.
  const knownLength = read.length === text.length ? shown.length : shown.length - MAX_SECRET;
  if (read.length === text.length && knownLength <= max) return shown;
  return `${shown.slice(0, Math.max(0, Math.min(max, knownLength)))}… (${text.length} characters)`;
}

/** Servers send texts of 32 MiB, and a mebibyte takes 10 ms. */
const MAX_READ = 1 << 20;
/** The longest secret that is certainly hidden if a text is not read to its end. */
const MAX_SECRET = 4096;

/** Hides a value from now on, wherever it appears. */
export function registerSecret(value: string): void {
  // Texts of fewer than four characters occur in many words: hiding them would make everything unreadable.
  if (value.length >= 4) addSecret(value);
  registerPasswords(value);
}

/** Hides the passwords of the addresses in a text: a path derived from an address no longer looks like one. */
function registerPasswords(text: string): void {
  for (const [, password = ''] of text.matchAll(/:\/\/[^\s/@:]*:([^\s/@]{4,})@/g)) addSecret(password);
}

/** Hides the credentials of the command line and of the environment, in whatever form they appear later. */
export function registerSecretsOf(args: readonly string[], environment: NodeJS.ProcessEnv): void {
  for (const [at, arg] of args.entries()) {
    const [, name = '', value] = /^(--?[^=]+)=([\s\S]*)$/.exec(arg) ?? [];
    if (value !== undefined && isSecretOption(name)) registerSecret(value);
    else if (isValueOfSecret(args, at)) registerSecret(arg);
    else registerPasswords(arg);
  }
  for (const [name, value = ''] of Object.entries(environment)) {
    if (!name.startsWith('MILLRACE_')) continue;
    if (isSecretOption(name)) registerSecret(value);
    else registerPasswords(value);
  }
}

/** An argument list that can be shown and stored. */
export function redactArguments(args: readonly string[]): string[] {
  return args.map((arg, at) => (isValueOfSecret(args, at) ? HIDDEN : redact(arg)));
}

function isValueOfSecret(args: readonly string[], at: number): boolean {
  const before = args[at - 1] ?? '';
  return /^-{1,2}[^=]*$/.test(before) && isSecretOption(before) && !(args[at] ?? '').startsWith('-');
}

const secrets = new Set<string>();
/**
 * Matches any of the secrets. The empty group keeps V8 from searching for one plain text, which takes 10 ms for a
 * megabyte of its first letter; this takes 2.
 */
let secretPattern: RegExp | undefined;

function addSecret(secret: string): void {
  secrets.add(secret);
  const texts = [...secrets].map((one) => one.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  secretPattern = new RegExp(`(?:${texts.join('|')})(?:)`);
}
