import { quoted } from './quoted.js';
import type { CommandWords, CompletionOption } from './words.js';

/** Completion for zsh: one function with \`_arguments\` per command. */
export function zshScript(all: readonly CommandWords[]): string {
  return `#compdef millrace
# zsh completion of millrace: put this into a file _millrace on your fpath, or: eval "$(millrace completion zsh)"
${all.map(functionOf).join('\n')}
if [ "\${funcstack[1]}" = _millrace ]; then _millrace "$@"; else compdef _millrace millrace; fi
`;
}

const functionName = (path: string): string =>
  `_millrace${path === '' ? '' : `_${path.replaceAll(/[^A-Za-z0-9]+/g, '_')}`}`;

function functionOf({ path, commands, options, choices, takesFiles }: CommandWords): string {
  const specs = options.map((option) => `    ${quoted(specOf(option))}`);
  if (commands.length === 0) {
    const rest = choices.length > 0 ? `*:what:(${choices.join(' ')})` : takesFiles ? '*:file:_files' : '*:: :';
    return `${functionName(path)}() {
  _arguments -s \\
${[...specs, `    ${quoted(rest)}`].join(' \\\n')}
}`;
  }
  const names = commands.map(({ name, does }) => `    ${quoted(`${name}:${does}`)}`);
  const cases = commands.map(({ name }) => `    ${name}) ${functionName(`${path} ${name}`.trim())} ;;`);
  return `${functionName(path)}() {
  local state line
  local -a names
  names=(
${names.join('\n')}
  )
  _arguments -C \\
${specs.join(' \\\n')} \\
    '1: :->command' '*:: :->rest'
  case $state in
  command) _describe command names ;;
  rest) case $line[1] in
${cases.join('\n')}
    esac ;;
  esac
}`;
}

/** \`(-e --extra-verbose)\`{-e,--extra-verbose}… written out: \`_arguments\` takes one spec for both. */
function specOf({ flags, description, value, choices }: CompletionOption): string {
  const [first = '', ...others] = [...flags].reverse();
  const exclusive = others.length === 0 ? '' : `(${flags.join(' ')})`;
  const about = `[${description.replaceAll(/[[\]:]/g, ' ')}]`;
  const action = {
    none: '',
    choice: `:value:(${choices.map(escaped).join(' ')})`,
    file: ':file:_files',
    folder: ':folder:_files -/',
    any: ':value: ',
  };
  return `${exclusive}${first}${about}${action[value]}`;
}

/** A colon ends a part of a spec. */
const escaped = (word: string): string => word.replaceAll(':', '\\:');
