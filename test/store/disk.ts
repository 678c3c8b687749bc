import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Builds disk.c, reads its log, and creates states that a power loss could have left. */

const source = fileURLToPath(new URL('disk.c', import.meta.url));

/** Builds the library to preload; without a compiler, returns the reason. */
export function buildDisk(folder: string): { readonly library: string } | { readonly reason: string } {
  if (process.platform !== 'linux') return { reason: 'files are watched on Linux only' };
  const library = join(folder, 'disk.so');
  const built = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread'], {
    encoding: 'utf8',
  });
  return built.status === 0 ? { library } : { reason: `no C compiler: ${built.error?.message ?? built.stderr}` };
}

export type Change =
  | { readonly kind: 'open'; readonly path: string; readonly isCut: boolean }
  | { readonly kind: 'write'; readonly path: string; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'cut'; readonly path: string; readonly length: number }
  | { readonly kind: 'sync'; readonly path: string }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'rename'; readonly path: string; readonly to: string };

/** Returns all changes in order; paths are relative to `root`. */
export function readLog(file: string, root: string): Change[] {
  const log = readFileSync(file);
  const changes: Change[] = [];
  for (let at = 0; at < log.length; ) {
    const [kind, pathLength] = [log.readUInt32LE(at), log.readUInt32LE(at + 4)];
    const [offset, length] = [Number(log.readBigUInt64LE(at + 8)), Number(log.readBigUInt64LE(at + 16))];
    const start = at + 24 + pathLength;
    const path = relative(root, log.toString('utf8', at + 24, start));
    const bytes = log.subarray(start, start + length);
    at = start + (kind === 2 || kind === 6 ? length : 0);
    if (kind === 1) changes.push({ kind: 'open', path, isCut: length === 1 });
    if (kind === 2) changes.push({ kind: 'write', path, offset, bytes });
    if (kind === 3) changes.push({ kind: 'cut', path, length: offset });
    if (kind === 4) changes.push({ kind: 'sync', path });
    if (kind === 5) changes.push({ kind: 'remove', path });
    if (kind === 6) changes.push({ kind: 'rename', path, to: relative(root, bytes.toString()) });
  }
  return changes;
}

/** A power loss after change `end`. */
export interface Loss {
  readonly end: number;
  /** From 0 to 1. Decides which changes without an fsync survive, in which order, and where they are torn. */
  random(): number;
  /** The disk acknowledges writes that it has not made: no fsync counts. */
  readonly isLying?: boolean;
}

const SECTOR = 512;

/** Writes the files as they are after the loss to a folder. */
export function afterLoss(changes: readonly Change[], { end, random, isLying = false }: Loss, folder: string): void {
  const durable = new Map<string, number>();
  const before = changes.slice(0, end);
  if (!isLying) for (const [at, { kind, path }] of before.entries()) if (kind === 'sync') durable.set(path, at);
  const files: Files = new Map();
  const late: Change[] = [];
  for (const [at, change] of before.entries()) {
    // Names belong to a folder: they are durable after its fsync, or that of the file.
    const isName = change.kind === 'remove' || change.kind === 'rename';
    const folderAt = isName ? (durable.get(dirname(change.path).replace(/^\.$/, '')) ?? -1) : -1;
    if (at <= Math.max(folderAt, durable.get(change.path) ?? -1)) apply(files, change);
    // A created file exists; its other changes since the last fsync may be lost.
    else if (change.kind === 'open' && !files.has(change.path)) apply(files, change);
    else if (random() < 0.5) late.push(torn(change, random));
  }
  // The disk may write pending changes in any order.
  if (random() < 0.5) for (const change of late.sort(() => random() - 0.5)) apply(files, change);
  else for (const change of late) apply(files, change);
  for (const [path, { bytes }] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  }
}

/** A write may stop between two sectors. */
function torn(change: Change, random: () => number): Change {
  if (change.kind !== 'write' || random() < 0.6) return change;
  const sectors = Math.floor((random() * change.bytes.length) / SECTOR);
  return { ...change, bytes: change.bytes.subarray(0, sectors * SECTOR) };
}

type Files = Map<string, FileOnDisk>;

/** Bytes that grow by doubling: a log takes thousands of writes. */
class FileOnDisk {
  #room = new Uint8Array(4096);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.#length);
  }

  write(offset: number, bytes: Uint8Array): void {
    this.cut(Math.max(this.#length, offset + bytes.length));
    this.#room.set(bytes, offset);
  }

  cut(length: number): void {
    if (length > this.#room.length) {
      const grown = new Uint8Array(2 * length);
      grown.set(this.#room);
      this.#room = grown;
    }
    this.#room.fill(0, Math.min(length, this.#length), this.#length);
    this.#length = length;
  }
}

function apply(files: Files, change: Change): void {
  const { path } = change;
  const file = files.get(path) ?? new FileOnDisk();
  if (change.kind !== 'sync') files.set(path, file);
  if (change.kind === 'open' && change.isCut) file.cut(0);
  if (change.kind === 'write') file.write(change.offset, change.bytes);
  if (change.kind === 'cut') file.cut(change.length);
  if (change.kind === 'rename') files.set(change.to, file);
  if (change.kind === 'remove' || change.kind === 'rename') files.delete(path);
}
