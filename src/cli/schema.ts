import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Argument, Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import type { CommandResult } from '../console/output/output.js';

/** `millrace schema` */
export function schemaCommand(): Command {
  const command = new Command('schema')
    .description('print the JSON Schema of the events that --json and --events write')
    .addArgument(new Argument('[of]', 'schema to print').choices(['events']).default('events'))
    .action(action(schema));
  return withExamples(command, ['millrace schema events > events.schema.json']);
}

async function schema({ output }: Call<object>): Promise<CommandResult> {
  const path = createRequire(import.meta.url).resolve('millrace/events.schema.json');
  const text = readFileSync(path, 'utf8');
  output.data(text.trimEnd());
  return { exit: Exit.ok, answer: { schema: JSON.parse(text) as unknown } };
}
