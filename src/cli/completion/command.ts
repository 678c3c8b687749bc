import { Argument, Command } from 'commander';
import { action, type Call } from '../../console/command/action.js';
import { withExamples } from '../../console/command/conventions.js';
import { Exit } from '../../console/command/exit.js';
import type { CommandResult } from '../../console/output/output.js';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { type CommandWords, commandWords } from './words.js';
import { zshScript } from './zsh.js';

/** `millrace completion` */
export function completionCommand(): Command {
  const command = new Command('completion')
    .description('print a script that makes a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'shell that runs the script').choices(Object.keys(scripts)));
  command.action(action((call: Call<object>) => completion(call, command)));
  return withExamples(
    command,
    ['eval "$(millrace completion bash)"', 'in ~/.bashrc'],
    ['eval "$(millrace completion zsh)"', 'in ~/.zshrc, after compinit'],
    ['millrace completion fish > ~/.config/fish/completions/millrace.fish'],
  );
}

async function completion({ output, args: [shell = ''] }: Call<object>, command: Command): Promise<CommandResult> {
  const script = scripts[shell]?.(commandWords(command.parent ?? command)) ?? '';
  output.data(script.trimEnd());
  return { exit: Exit.ok, answer: { shell, script } };
}

const scripts: Readonly<Record<string, (words: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
