import { koffiIfInstalled } from '../../../device/native/koffi.js';

const F_SETPIPE_SZ = 1031;
/** Linux's default limit for unprivileged users: /proc/sys/fs/pipe-max-size. */
const PIPE_BYTES = 1 << 20;

/**
 * Enlarges a pipe from 64 KiB to 1 MiB if Linux allows it, so that writer and reader switch less often. Returns the new
 * capacity in bytes, or undefined if it could not be changed.
 */
export function enlargePipe(file: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  const fcntl = koffiIfInstalled()?.load(null).func('int fcntl(int file, int command, ...)');
  // SAFETY: takes one int and changes nothing but the pipe's size.
  const size = fcntl?.(file, F_SETPIPE_SZ, 'int', PIPE_BYTES) as number | undefined;
  return size !== undefined && size > 0 ? size : undefined;
}
