#!/usr/bin/env node
import { CommanderError } from 'commander';
import { startOf } from '../console/action.js';
import { loadProgramWith } from '../console/config.js';
import { everyCommand } from '../console/conventions.js';
import { Exit } from '../console/exit.js';
import { options } from '../console/options.js';
import { endOnClosedPipe, openOutput } from '../console/output.js';
import { keepSecretsOf } from '../console/redact.js';
import { endWithCommand } from '../device/leave.js';
import { routed } from './bench/route.js';
import { program } from './program.js';

endOnClosedPipe();
endWithCommand();
loadProgramWith(program);
await main(process.argv);

/** Actions end with their own exit status; what commander itself refuses is a usage error. */
async function main(argv: readonly string[]): Promise<void> {
  const root = await program(argv[2]);
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
    await root.parseAsync(argv.length <= 2 ? [...argv, '--help'] : routed(argv));
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    process.exitCode = Exit.usage;
    keepSecretsOf(argv.slice(2), process.env);
    const output = openOutput({ json: argv.includes('--json') || options.json().envVar !== undefined });
    output.event('start', startOf(''));
    if (complaint !== '') output.fail(`${complaint}\n  advice: millrace --help`);
    output.event('error', { code: 'usage', message: complaint || 'a command is missing' });
    output.event('done', { exit: Exit.usage });
  }
}
