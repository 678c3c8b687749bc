#!/usr/bin/env node
import { CommanderError } from 'commander';
import { Exit } from '../console/exit.js';
import { options } from '../console/options.js';
import { endOnClosedPipe, openOutput } from '../console/output.js';
import { everyCommand, program } from './program.js';

endOnClosedPipe();
await main(process.argv);

/** Actions end with their own exit status; what commander itself refuses is a usage error. */
async function main(argv: readonly string[]): Promise<void> {
  const root = program();
  const output = openOutput(argv.includes('--json') || options.json().envVar !== undefined);
  let complaint = '';
  everyCommand(root, (command) =>
    command.exitOverride().configureOutput({
      outputError: (text) => {
        complaint = text
          .trim()
          .replace(/^error: /, '')
          .replaceAll('\n', ' ');
      },
    }),
  );
  try {
    await root.parseAsync(argv.length <= 2 ? [...argv, '--help'] : [...argv]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    process.exitCode = Exit.usage;
    if (complaint !== '') output.say(`${output.aside.bad('error:')} ${complaint}\n  advice: millrace --help`);
    output.event('error', { code: 'usage', message: complaint || 'a command is missing' });
    output.event('done', { exit: Exit.usage });
  }
}
