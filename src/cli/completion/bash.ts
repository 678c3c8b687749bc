import { quoted } from './quoted.js';
import type { CommandWords, CompletionOption } from './words.js';

/** Completion for bash 3.2 and later: macOS still ships 3.2. */
export function bashScript(all: readonly CommandWords[]): string {
  return `# bash completion of millrace: eval "$(millrace completion bash)"
_millrace() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev='' path='' word words='' at
  [ "$COMP_CWORD" -gt 0 ] && prev=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  # The command so far: words that are names of commands, one below the other.
  for ((at = 1; at < COMP_CWORD; at++)); do
    word=\${COMP_WORDS[at]}
    case "$path $word" in
${all
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${quoted(` ${path}`)}) path=${quoted(` ${path}`)} ;;`)
  .join('\n')}
    esac
  done
  case "$path $prev" in
${all.flatMap(valueCases).join('\n')}
  esac
  case "$path" in
${all.map(wordsCase).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _millrace millrace
`;
}

/** Cases for the value after an option. */
function valueCases({ path, options }: CommandWords): string[] {
  const prefix = path === '' ? '' : ` ${path}`;
  return options
    .filter(({ value }) => value !== 'none')
    .map((option) => {
      const patterns = option.flags.map((flag) => quoted(`${prefix} ${flag}`)).join('|');
      return `    ${patterns}) ${reply(option)}; return ;;`;
    });
}

function reply({ value, choices }: CompletionOption): string {
  if (value === 'choice') return `COMPREPLY=($(compgen -W ${quoted(choices.join(' '))} -- "$cur"))`;
  // Bash completes file names itself (\`-o default\`); other values are unknown.
  return value === 'folder' ? 'COMPREPLY=($(compgen -d -- "$cur"))' : ':';
}

function wordsCase({ path, commands, options, choices, takesFiles }: CommandWords): string {
  const flags = options.flatMap((option) => option.flags).join(' ');
  const names = [...commands.map(({ name }) => name), ...choices].join(' ');
  const pattern = quoted(path === '' ? '' : ` ${path}`);
  const plain = takesFiles ? 'return' : `words=${quoted(names)}`;
  return `    ${pattern}) case "$cur" in -*) words=${quoted(flags)} ;; *) ${plain} ;; esac ;;`;
}
