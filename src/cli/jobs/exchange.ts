import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Exit } from '../../console/command/exit.js';
import { host } from '../../console/command/host.js';
import { count, plural } from '../../console/output/format.js';
import type { CommandResult } from '../../console/output/output.js';
import { MillraceError } from '../../kernel/error.js';
import type { ExportedJob } from '../../store/index.js';
import { importError, MAX_CHARACTERS, tooLargeError } from '../../store/thread/export-reader.js';
import type { StoreCall, StoreOptions } from './command.js';

/** `millrace jobs export` */
export async function exportTo({ output, options, args, store }: StoreCall<ExportOptions>): Promise<CommandResult> {
  const { job } = await store.find(args[0] ?? '');
  const exported = await store.export(job.id);
  const json = `${stringified(exported, job.id)}\n`;
  if (options.output === undefined) {
    output.data(json.trimEnd());
    return { exit: Exit.ok, answer: { exported } };
  }
  await withIoErrors(`to write ${options.output}`, () => writeFile(options.output ?? '', json));
  output.say(`job ${job.id}: ${plural(exported.done.length, 'range')}, ${plural(exported.hits.length, 'hit')}`);
  return { exit: Exit.ok, answer: { id: job.id, ranges: exported.done.length, hits: exported.hits.length } };
}

/** Throws `usage` if the text exceeds the limit of an import or the maximum length of a string. */
function stringified(exported: ExportedJob, id: string): string {
  let cause: unknown;
  try {
    const json = JSON.stringify(exported, undefined, 1);
    if (json.length < MAX_CHARACTERS) return json;
  } catch (error) {
    cause = error;
  }
  throw new MillraceError({
    code: 'usage',
    message: `the export would be larger than ${MAX_CHARACTERS / 2 ** 20} MiB`,
    asked: `to export job ${id}`,
    advice: 'copy the data directory instead',
    cause,
  });
}

interface ExportOptions extends StoreOptions {
  readonly output?: string;
}

/** `millrace jobs import` */
export async function importFrom({
  output,
  args: [file = ''],
  store,
}: StoreCall<StoreOptions>): Promise<CommandResult> {
  const json = await withIoErrors(`to read ${file}`, () => read(file === '-' ? host().stdin : createReadStream(file)));
  const { id, indices, hits } = await store.import(json);
  output.say(`job ${id}: added ${count(indices)} indices and ${plural(hits, 'hit')}`);
  return { exit: Exit.ok, answer: { id, indices, hits } };
}

/** Reads a stream as text. Stops at the limit: a stream may be endless. */
async function read(stream: AsyncIterable<Uint8Array | string>): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of stream) {
    const some = Buffer.from(part);
    bytes += some.length;
    if (bytes > MAX_CHARACTERS) throw tooLargeError();
    parts.push(some);
  }
  const all = Buffer.concat(parts);
  if (!isUtf8(all)) throw importError('it is not UTF-8 text');
  return all.toString('utf8');
}

async function withIoErrors<T>(asked: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw new MillraceError({ code: 'io', message: (cause as Error).message, asked, cause });
  }
}
