import { MillraceError } from '../../error.js';
import { Expr, type ExprLike, operand } from '../../language/expr.js';
import { select } from '../../language/operations.js';

type Word = ExprLike<'u32'>;

/** The length of a message in bytes: a number, or a value that only the kernel knows. */
export type MessageBytes = number | Expr<'u32'>;

/** How a hash function reads the bytes of a message, and how the message ends. */
export interface MessageForm {
  /** The function's name, for errors. */
  readonly name: string;
  /** Where the first byte of a word is: at its low or at its high end. */
  readonly order: 'little' | 'big';
  /** The byte that follows the message. */
  readonly marker: number;
  readonly blockBytes: number;
  /** Bytes at the end of the last block for the message's length in bits. Keccak has none. */
  readonly lengthBytes: 0 | 8 | 16;
}

/**
 * Returns the padded message as blocks of words. The bytes of the last word past the end are ignored. A length that only the
 * kernel knows must leave the message in one block: 55 bytes of blocks of 64, 111 of 128.
 */
export function messageBlocks(form: MessageForm, message: readonly Word[], bytes: MessageBytes): Word[][] {
  const words = bytes instanceof Expr ? varyingEnd(form, message, bytes) : knownEnd(form, message, bytes);
  const { blockBytes, lengthBytes, order } = form;
  const blockWords = blockBytes / 4;
  const count = Math.ceil((words.length + lengthBytes / 4) / blockWords);
  while (words.length < count * blockWords) words.push(0);
  if (lengthBytes > 0) {
    const [low, high] = bytes instanceof Expr ? [bytes.shl(3), 0] : [(bytes * 8) >>> 0, Math.floor(bytes / 2 ** 29)];
    words.splice(-2, 2, ...(order === 'little' ? [low, high] : [high, low]));
  }
  return Array.from({ length: count }, (_, i) => words.slice(i * blockWords, (i + 1) * blockWords));
}

/** Returns the message's words and the marker. */
function knownEnd(form: MessageForm, message: readonly Word[], bytes: number): Word[] {
  const count = Math.ceil(bytes / 4);
  if (!Number.isInteger(bytes) || bytes < 0 || bytes > MAX_BYTES || message.length < count) {
    throw new MillraceError({
      code: 'kernel-value',
      message: `${form.name} of ${bytes} bytes got ${message.length} words`,
      asked: 'the hash of a message',
      advice: `give ceil(bytes / 4) words, at most ${MAX_BYTES} bytes: each block is traced`,
    });
  }
  const words = message.slice(0, count);
  const rest = bytes % 4;
  const last = rest === 0 ? undefined : words.pop();
  const { order, marker } = form;
  const shift = order === 'little' ? 8 * rest : 24 - 8 * rest;
  const kept = order === 'little' ? 2 ** (8 * rest) - 1 : 2 ** 32 - 2 ** (32 - 8 * rest);
  const end = (marker << shift) >>> 0;
  words.push(last === undefined ? end : operand('u32', last).and(kept).or(end));
  return words;
}

/** Returns one word more than the message has, with the marker where the kernel finds the end. */
function varyingEnd(form: MessageForm, message: readonly Word[], bytes: Expr<'u32'>): Word[] {
  const most = form.blockBytes - form.lengthBytes - 1;
  if (message.length > Math.ceil(most / 4)) {
    throw new MillraceError({
      code: 'kernel-value',
      message: `${form.name} of a length that only the kernel knows got ${message.length} words`,
      asked: 'the hash of a message',
      advice: `give at most ${Math.ceil(most / 4)} words: such a message has at most ${most} bytes`,
    });
  }
  const turn = bytes.and(3).shl(3);
  const isLittle = form.order === 'little';
  const kept = isLittle ? operand('u32', 1).shl(turn).sub(1) : operand('u32', 0xffff_ffff).shr(turn).not();
  const end = isLittle ? operand('u32', form.marker).shl(turn) : operand('u32', form.marker << 24).shr(turn);
  const last = bytes.shr(2);
  return Array.from({ length: Math.min(message.length + 1, (most + 1) / 4) }, (_, i) => {
    const word = operand('u32', message[i] ?? 0);
    return select(last.gt(i), word, select(last.eq(i), word.and(kept).or(end), 0));
  });
}

/** Tracing a block takes about 1 ms. */
const MAX_BYTES = 65_536;
