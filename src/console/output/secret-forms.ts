/**
 * Hides credentials that are recognizable by their form: the name and password in an address
 * (`tcp://NAME:PASSWORD@host`), or a name alone, because pools use wallets as names; and the value after the name of a
 * secret (`--token VALUE`, `password=VALUE`, `"api_key": "VALUE"`).
 *
 * Servers choose the text. A regular expression takes 150 ns for each match or failed attempt, 25 ms for a megabyte full
 * of them. This scanner reads each character once or twice, and hides the rest of a text that has more than 10,000
 * candidate places.
 */
export function hideCredentials(text: string): string {
  if (text.length < SHORT ? !text.includes('://') && !isSecretName(text) : !/[=:\s]/.test(text)) return text;
  // A sentinel after the text ends every loop, so that none compares with its length.
  const units = new Uint16Array(text.length + 1);
  Buffer.from(units.buffer).write(text, 'utf16le');
  units[text.length] = END_UNIT;
  transitions ??= automaton();
  const shown: string[] = [];
  let [state, from, places] = [OUTSIDE, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const unit = units[at] ?? 0;
    state = transitions[(state << 8) | (unit < 256 ? unit : SPACE_UNIT)] ?? 0;
    if (state !== NAME_ENDED && unit !== SLASH) continue;
    const isName = state === NAME_ENDED;
    if (!isName && (state !== OUTSIDE || units[at - 1] !== SLASH || units[at - 2] !== COLON)) continue;
    const start = isName ? valueStart(units, at) : at + 1;
    const end = isName ? valueEnd(units, start) : identityEnd(units, start);
    places += 1;
    if (end <= start && places < MAX_PLACES) continue;
    shown.push(text.slice(from, places < MAX_PLACES ? start : at));
    from = places < MAX_PLACES ? end : text.length;
    at = from - 1;
    state = OUTSIDE;
  }
  if (shown.length === 0) return text;
  shown.push(text.slice(from));
  return shown.join(HIDDEN);
}

const MAX_PLACES = 10_000;
/** Few short texts contain a secret: they skip the copy, and most commands never build the automaton. */
const SHORT = 4096;

export const HIDDEN = '…';

/** True if the value of an option, a field or a variable of this name is a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name);

/** The same of an option or its variable. The value of `--password-file` is a path, which errors show. */
export const isSecretOption = (name: string): boolean => isSecretName(name) && !/file$/i.test(name);

const SECRET_NAME = /pass(?!ed|es|ing)|secret|token|credential|api-?_?key|private-?_?key|authorization/i;

/**
 * Names in a text, in lower case; `passes` and `authorization-code` are ordinary words there. A space stands for any
 * character that cannot be part of a word, and for both ends of the text.
 */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'passphrase', ' pass ', ' pass-', '-pass ', '-pass-', 'secret', 'token', 'credential'],
  ...['apikey', 'api-key', 'api_key', 'privatekey', 'private-key', 'private_key', 'authorization '],
]);

/** Returns the end of the name and password of the address whose scheme ends at `start`; `start` if it has none. */
function identityEnd(units: Uint16Array, start: number): number {
  // A scheme: a letter or a digit, then any number of signs.
  let at = start - 4;
  while (at >= 0 && (classOf(units, at) & SCHEME_SIGN) !== 0) at -= 1;
  if (at < 0 || (classOf(units, at) & WORD) === 0) return start;
  let end = start;
  while ((classOf(units, end) & NOT_IDENTITY) === 0) end += 1;
  return units[end] === AT ? end : start;
}

/** Returns the end of a value. An address in it is part of it, whatever its password contains. */
function valueEnd(units: Uint16Array, start: number): number {
  let at = start;
  while (isValue(units, at)) {
    at += 1;
    if (units[at - 1] === SLASH && units[at - 2] === SLASH && units[at - 3] === COLON) at = identityEnd(units, at);
  }
  return at;
}

/** Returns the start of the value of the name that ends at `at`; the end of the text if it has none. */
function valueStart(units: Uint16Array, at: number): number {
  const behind = afterSpaces(units, afterQuote(units, at));
  if (units[behind] === EQUALS || units[behind] === COLON) {
    const start = afterSpaces(units, behind + 1);
    const value = afterQuote(units, afterAuthScheme(units, start));
    if (isValue(units, value)) return value;
    // `token: bearer` and nothing after it: the word is the value.
    const word = afterQuote(units, start);
    if (isValue(units, word)) return word;
  }
  const value = afterQuote(units, behind);
  return isSpace(units, at) && isValue(units, value) && isOption(units, at) ? value : units.length - 1;
}

/** True if the word that ends at `end` has two hyphens in a row, as an option does. */
function isOption(units: Uint16Array, end: number): boolean {
  for (let at = end - 1; at > 0 && (classOf(units, at) === WORD || units[at] === HYPHEN); at--) {
    if (units[at] === HYPHEN && units[at - 1] === HYPHEN) return true;
  }
  return false;
}

/** Skips `bearer` or `basic`, and the spaces after it. */
function afterAuthScheme(units: Uint16Array, at: number): number {
  for (const scheme of ['bearer', 'basic']) {
    let end = 0;
    // Setting this bit maps only the two cases of an ASCII letter to that letter.
    while (end < scheme.length && ((units[at + end] ?? 0) | 0x20) === scheme.charCodeAt(end)) end += 1;
    if (end === scheme.length && isSpace(units, at + end)) return afterSpaces(units, at + end);
  }
  return at;
}

function afterSpaces(units: Uint16Array, from: number): number {
  let at = from;
  while (isSpace(units, at)) at += 1;
  return at;
}

const afterQuote = (units: Uint16Array, at: number): number => ((classOf(units, at) & QUOTE) === 0 ? at : at + 1);
const isSpace = (units: Uint16Array, at: number): boolean => (classOf(units, at) & SPACE) !== 0;
const isValue = (units: Uint16Array, at: number): boolean => (classOf(units, at) & NOT_VALUE) === 0;

/** Classes of characters, a bit each. */
const WORD = 1;
const SCHEME_SIGN = 2;
const SPACE = 4;
const QUOTE = 8;
const SEPARATOR = 16;
const NO_IDENTITY = 32;
const END = 64;
const NOT_VALUE = SPACE | QUOTE | SEPARATOR | END;
const NOT_IDENTITY = SPACE | QUOTE | NO_IDENTITY | END;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const WORD_CHARACTERS = `${LETTERS}${LETTERS.toUpperCase()}0123456789_`;
/** What `\s` matches. */
const SPACES =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';

const CLASSES = new Uint8Array(1 << 16);
for (const [characters, bit] of [
  [WORD_CHARACTERS, WORD],
  ['+.-', SCHEME_SIGN],
  [SPACES, SPACE],
  [`"'`, QUOTE],
  [',;&', SEPARATOR],
  ['/@', NO_IDENTITY],
] as const) {
  for (const one of characters) CLASSES[one.charCodeAt(0)] = bit;
}
/** A unit that no text contains: a noncharacter that Unicode reserves for programs. */
const END_UNIT = 0xffff;
CLASSES[END_UNIT] = END;
const classOf = (units: Uint16Array, at: number): number => CLASSES[units[at] ?? END_UNIT] ?? END;

const SPACE_UNIT = 0x20;
const COLON = 0x3a;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const HYPHEN = 0x2d;
const AT = 0x40;

/** The last character is not part of a word; `NAME_ENDED`: and the word before it contains a name. */
const OUTSIDE = 0;
const NAME_ENDED = 1;
/** From the end of a name to the end of its word. */
const IN_NAMED_WORD = 2;

/**
 * The next state, at index 256 · state + character. Each other state is the longest suffix of the text read so far that
 * is a prefix of a name, so each character takes one table lookup, whatever the text is.
 */
let transitions: Uint8Array | undefined;

function automaton(): Uint8Array {
  const starts = [...new Set([...SECRET_WORDS].flatMap((name) => Array.from(name, (_, at) => name.slice(0, at))))];
  const states = new Map([[' ', OUTSIDE]]);
  for (const start of starts) if (!states.has(start)) states.set(start, states.size + IN_NAMED_WORD);
  // No name occurs inside a prefix of another one, so the longest suffix decides.
  const stateOf = (read: string): number => {
    if (SECRET_WORDS.has(read)) return read.endsWith(' ') ? NAME_ENDED : IN_NAMED_WORD;
    return states.get(read) ?? stateOf(read.slice(1));
  };
  const table = new Uint8Array((states.size + IN_NAMED_WORD) * 256);
  const fill = (state: number, codes: readonly number[], to: number): void => {
    for (const code of codes) table[(state << 8) | code] = to;
  };
  for (const [sign, codes] of codesBySign()) {
    for (const [start, state] of states) fill(state, codes, stateOf(start + sign));
    fill(NAME_ENDED, codes, stateOf(` ${sign}`));
    fill(IN_NAMED_WORD, codes, sign === ' ' ? NAME_ENDED : IN_NAMED_WORD);
  }
  return table;
}

/**
 * Groups the first 256 characters by their role in `SECRET_WORDS`: a letter in either case, a word character of no name ('0'),
 * or a space for all others.
 */
function codesBySign(): Map<string, number[]> {
  const all = [...SECRET_WORDS].join('');
  const signs = new Map<string, number[]>();
  for (let code = 0; code < 256; code++) {
    const one = String.fromCharCode(code);
    const isInWord = WORD_CHARACTERS.includes(one) || one === '-';
    const sign = !isInWord ? ' ' : all.includes(one.toLowerCase()) ? one.toLowerCase() : '0';
    signs.set(sign, [...(signs.get(sign) ?? []), code]);
  }
  return signs;
}
