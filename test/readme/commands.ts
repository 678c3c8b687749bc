/** A command in a document. */
export interface Told {
  readonly file: string;
  /** As written, without its comment; one of the alternatives of `prove|mine`. */
  readonly command: string;
  /** Variables that the document sets (`HASH=…`), by `$HASH`. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Returns the commands of a Markdown text: lines of `sh`, plain and indented blocks, and spans in backticks that start with
 * `millrace`, `npm`, `npx` or `node` and have more words. A bare `millrace run` counts too.
 */
export function commandsOf(file: string, markdown: string): Told[] {
  const found = new Set<string>();
  const variables: Record<string, string> = {};
  const lines = (block: string): void => {
    for (const line of block.replaceAll(/\\\n\s*/g, ' ').split('\n')) {
      const [, name, value = ''] = /^([A-Z]+)=(\S+)$/.exec(line) ?? [];
      if (name !== undefined) variables[`$${name}`] = value;
      for (const one of alternatives(plain(line))) found.add(one);
    }
  };
  const rest = markdown
    .replaceAll(/```(\w*)\n([\s\S]*?)```/g, (_, language: string, body: string) => {
      if (language === '' || language === 'sh') lines(body);
      return '';
    })
    .replaceAll(/^ {4}\S.*$/gm, (line) => {
      lines(line);
      return '';
    });
  for (const [, span = ''] of rest.matchAll(/`([^`]+)`/g)) for (const one of alternatives(plain(span))) found.add(one);
  return [...found].filter((command) => COMMAND.test(command)).map((command) => ({ file, command, variables }));
}

/** `millrace block …` names a family and does not count. */
const COMMAND = /^(millrace|\.\/millrace|npm|npx|node) (?!.*[^\w,]…$)/;

const plain = (text: string): string =>
  text
    .replaceAll('\\|', '|')
    .replace(/\s+# .*/s, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/ &$/, '')
    .trim();

/** `uhash prove|mine` is two commands, and so is `--show, --reset`; a pipe has blanks around it. */
function alternatives(command: string): string[] {
  const list = /^(.*?) (--\w+(?:, --\w+)+)$/.exec(command);
  if (list) return (list[2] ?? '').split(', ').map((option) => `${list[1]} ${option}`);
  const word = command.split(' ').find((one) => /^\w+(\|\w+)+$/.test(one));
  if (word === undefined) return [command];
  return word.split('|').map((one) => command.replace(word, one));
}

/** Splits a command as a shell does: removes quotes, and ignores programs after a pipe. */
export const wordsOf = (command: string): string[] =>
  [...(command.split(' | ')[0] ?? '').matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word);

/** True if `command` only names `other`, which has its words in this order and more; `FILE` matches any word. */
export function isNameOf(command: string, other: string): boolean {
  const rest = wordsOf(other);
  return wordsOf(command).every((word) => {
    const at = /^[A-Z]+$/.test(word) ? 0 : rest.indexOf(word);
    return at >= 0 && rest.splice(0, at + 1).length === at + 1;
  });
}
