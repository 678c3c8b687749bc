import { quoted } from './quoted.js';
import type { CommandWords, CompletionOption } from './words.js';

/** Completion for fish: a line per word, each with its condition. */
export function fishScript(all: readonly CommandWords[]): string {
  return `# fish completion of millrace: millrace completion fish > ~/.config/fish/completions/millrace.fish
function __millrace_at --description 'whether the commands typed so far are these'
    set -l typed
    for word in (commandline -opc)[2..-1]
        switch $word
            case '-*'
                continue
        end
        set -a typed $word
    end
    set -l wanted (string split -n ' ' -- $argv[1])
    set -l depth (count $wanted)
    test (count $typed) -ge $depth; or return 1
    test $depth -eq 0; and test (count $typed) -gt 0; and return 1
    test $depth -eq 0; or test "$typed[1..$depth]" = "$argv[1]"
end
complete -c millrace -f
${all.flatMap(linesOf).join('\n')}
`;
}

function linesOf({ path, commands, options, choices, takesFiles }: CommandWords): string[] {
  const when = `-n ${quoted(`__millrace_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, does }) => `complete -c millrace ${when} -a ${quoted(name)} -d ${quoted(does)}`),
    ...(choices.length === 0 ? [] : [`complete -c millrace ${when} -a ${quoted(choices.join(' '))}`]),
    ...(takesFiles ? [`complete -c millrace ${when} -F`] : []),
    ...options.map((option) => `complete -c millrace ${when} ${optionOf(option)}`),
  ];
}

function optionOf({ flags, description, value, choices }: CompletionOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes = {
    none: '',
    choice: ` -x -a ${quoted(choices.join(' '))}`,
    file: ' -r -F',
    folder: " -x -a '(__fish_complete_directories)'",
    any: ' -x',
  };
  return `${names.join(' ')}${takes[value]} -d ${quoted(description)}`;
}
