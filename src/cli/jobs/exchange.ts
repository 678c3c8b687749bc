import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Exit } from '../../console/exit.js';
import { count, plural } from '../../console/format.js';
import { host } from '../../console/host.js';
import type { Ending } from '../../console/output.js';
import { MillraceError } from '../../kernel/error.js';
import type { StoreCall, StoreOptions } from './command.js';

/** `millrace jobs export` */
export async function exportTo({ output, options, args, store }: StoreCall<ExportOptions>): Promise<Ending> {
  const { job } = await store.find(args[0] ?? '');
  const exported = await store.export(job.id);
  const json = `${JSON.stringify(exported, undefined, 1)}\n`;
  if (options.output === undefined) {
    output.line(json.trimEnd());
    return { exit: Exit.ok, answer: { exported } };
  }
  await attempt(`to write ${options.output}`, () => writeFile(options.output ?? '', json));
  output.say(`job ${job.id}: ${plural(exported.done.length, 'range')}, ${plural(exported.hits.length, 'hit')}`);
  return { exit: Exit.ok, answer: { id: job.id, ranges: exported.done.length, hits: exported.hits.length } };
}

interface ExportOptions extends StoreOptions {
  readonly output?: string;
}

/** `millrace jobs import` */
export async function importFrom({ output, args: [file = ''], store }: StoreCall<StoreOptions>): Promise<Ending> {
  const json = await attempt(`to read ${file}`, () => (file === '-' ? text(host().stdin) : readFile(file, 'utf8')));
  const { id, indices, hits } = await store.import(parse(json, file));
  output.say(`job ${id}: ${count(indices)} indices and ${plural(hits, 'hit')} are new`);
  return { exit: Exit.ok, answer: { id, indices, hits } };
}

function parse(json: string, file: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new MillraceError({
      code: 'input-format',
      message: `${file}: ${(cause as Error).message}`,
      asked: 'to import a job',
      advice: 'give a file that `millrace jobs export` wrote',
      cause,
    });
  }
}

async function attempt<T>(asked: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    throw new MillraceError({ code: 'io', message: (cause as Error).message, asked, cause });
  }
}
