import { lstat } from 'node:fs/promises';
import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { tilde } from '../console/command/paths.js';
import { flag } from '../console/options/options.js';
import { bytes, count, duration, plural } from '../console/output/format.js';
import type { CommandResult, Output } from '../console/output/output.js';
import { table } from '../console/output/table.js';
import { cacheDirectory } from '../device/cache/cache-directory.js';
import { type CacheEntry, cacheEntries, clearEntries } from '../device/cache/cache-entries.js';
import { MillraceError } from '../kernel/error.js';

/** `millrace cache` */
export function cacheCommand(): Command {
  const command = new Command('cache')
    .description('show the cache of compiled programs; --clear empties it')
    .addOption(flag('--clear', 'delete all entries; programs are then compiled again'))
    .action(action(cache));
  return withExamples(command, ['millrace cache', 'number, size and age of entries'], ['millrace cache --clear']);
}

async function cache({
  output,
  options: { clear = false },
}: Call<{ readonly clear?: boolean }>): Promise<CommandResult> {
  const directory = cacheDirectory();
  await checkOwner(directory, clear);
  const entries = await cacheEntries(directory);
  output.line(
    `${output.style.bold(tilde(directory))}  ${plural(entries.length, 'entry', 'entries')}, ${bytes(sizeOf(entries))}`,
  );
  const kinds = byKind(entries);
  printKinds(output, kinds);
  const deleted = clear ? await clearEntries(directory, entries) : [];
  if (clear) output.line(`deleted ${plural(deleted.length, 'entry', 'entries')}, ${bytes(sizeOf(deleted))}`);
  return {
    exit: Exit.ok,
    answer: {
      directory,
      entries: entries.length,
      bytes: sizeOf(entries),
      kinds: [...kinds].map(([kind, some]) => ({
        kind,
        entries: some.length,
        bytes: sizeOf(some),
        oldest: some[0]?.made.toISOString(),
        newest: some.at(-1)?.made.toISOString(),
      })),
      ...(clear && { deleted: deleted.length, deletedBytes: sizeOf(deleted) }),
    },
  };
}

const sizeOf = (entries: readonly CacheEntry[]): number => entries.reduce((sum, entry) => sum + entry.bytes, 0);

function byKind(entries: readonly CacheEntry[]): Map<string, CacheEntry[]> {
  const kinds = new Map<string, CacheEntry[]>();
  for (const entry of entries) kinds.set(entry.kind, [...(kinds.get(entry.kind) ?? []), entry]);
  return kinds;
}

function printKinds(output: Output, kinds: ReadonlyMap<string, readonly CacheEntry[]>): void {
  const age = (entry: CacheEntry | undefined): string =>
    entry === undefined ? '' : duration(Math.max(1, Math.round((Date.now() - entry.made.getTime()) / 1000)));
  const rows = [...kinds].map(([kind, some]) => [
    kind,
    count(some.length),
    bytes(sizeOf(some)),
    age(some[0]),
    age(some.at(-1)),
  ]);
  if (rows.length === 0) return;
  const heading = ['kind', 'entries', 'size', 'oldest', 'newest'].map(output.style.dim);
  for (const line of table([heading, ...rows], { indent: 2, right: [1, 2, 3, 4] })) output.line(line);
}

/** Throws if the directory is a link or belongs to another user: nothing is deleted through it. */
async function checkOwner(directory: string, isClearing: boolean): Promise<void> {
  const state = await lstat(directory).catch(() => undefined);
  const me = process.getuid?.();
  if (!isClearing || state === undefined) return;
  if (state.isDirectory() && (me === undefined || state.uid === me)) return;
  throw new MillraceError({
    code: 'io',
    message: `${directory} is ${state.isDirectory() ? `owned by user ${state.uid}` : 'not a folder'}`,
    asked: 'to delete its entries',
    advice: 'delete it yourself, or set MILLRACE_CACHE_DIR to a folder that you own',
  });
}
