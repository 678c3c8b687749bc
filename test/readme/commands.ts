/** What a document tells people to type. */
export interface Told {
  readonly file: string;
  /** As it stands there, without its comment; alternatives (`prove|mine`) one by one. */
  readonly command: string;
}

/**
 * The commands of a Markdown text: lines of its `sh` and plain blocks, and what stands between backticks, that begin with
 * `millrace`, `npm`, `npx` or `node` and go on. A bare `millrace run` is a name there and a command here: it counts.
 */
export function commandsOf(file: string, markdown: string): Told[] {
  const found = new Set<string>();
  const rest = markdown.replaceAll(/```(\w*)\n([\s\S]*?)```/g, (_, language: string, body: string) => {
    if (language !== '' && language !== 'sh') return '';
    const joined = body.replaceAll(/\\\n\s*/g, ' ');
    for (const line of joined.split('\n')) for (const one of alternatives(plain(line))) found.add(one);
    return '';
  });
  for (const [, span = ''] of rest.matchAll(/`([^`]+)`/g)) for (const one of alternatives(plain(span))) found.add(one);
  return [...found].filter((command) => COMMAND.test(command)).map((command) => ({ file, command }));
}

/** `millrace block …` is the name of a family. */
const COMMAND = /^(millrace|\.\/millrace|npm|npx|node) (?!.*[^\w,]…$)/;

const plain = (text: string): string =>
  text
    .replaceAll('\\|', '|')
    .replace(/\s+# .*/s, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

/** `uhash prove|mine` is two, `--show, --reset` as well; a pipe has blanks around it. */
function alternatives(command: string): string[] {
  const list = /^(.*?) (--\w+(?:, --\w+)+)$/.exec(command);
  if (list) return (list[2] ?? '').split(', ').map((option) => `${list[1]} ${option}`);
  const word = command.split(' ').find((one) => /^\w+(\|\w+)+$/.test(one));
  if (word === undefined) return [command];
  return word.split('|').map((one) => command.replace(word, one));
}
