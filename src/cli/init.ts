import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import type { CommandResult } from '../console/output/output.js';
import { MillraceError } from '../kernel/error.js';

/** `millrace init` */
export function initCommand(): Command {
  const command = new Command('init')
    .description('write a small kernel to begin with, for `millrace run`')
    .argument('[file]', 'where to; ends in .ts, .mts, .js or .mjs', 'kernel.ts')
    .action(action(init));
  return withExamples(command, ['millrace init', 'kernel.ts'], ['millrace init search.mjs', 'in JavaScript']);
}

async function init({ output, args: [file = ''] }: Call<object>): Promise<CommandResult> {
  if (!/\.m?[jt]s$/.test(file)) {
    throw new MillraceError({
      code: 'usage',
      message: `${file} would not be run: its name does not say what it holds`,
      asked: `to write ${file}`,
      advice: 'give it a name that ends in .ts, .mts, .js or .mjs',
    });
  }
  try {
    await writeFile(file, template(/ts$/.test(file)), { flag: 'wx' });
  } catch (cause) {
    throw notWrittenError(file, cause as NodeJS.ErrnoException);
  }
  const command = `millrace run ${/^[\w./-]+$/.test(file) ? file : JSON.stringify(file)}`;
  output.say(`wrote ${file}; run it with`);
  output.line(command);
  return { exit: Exit.ok, answer: { file, command } };
}

function notWrittenError(file: string, cause: NodeJS.ErrnoException): MillraceError {
  const exists = cause.code === 'EEXIST';
  return new MillraceError({
    code: exists ? 'usage' : 'io',
    message: exists ? `${file} exists already` : `cannot write ${file}: ${cause.message}`,
    asked: `to write ${file}`,
    advice: exists ? 'give another name, or remove it first' : 'name a file in a folder that you may write to',
    cause,
  });
}

/** The JavaScript version differs only by the one type. */
const template = (isTypeScript: boolean): string => `import { createHash } from 'node:crypto';
import { items, sha256, u32, when } from 'millrace';

const salt = 2026;

// Looks for numbers whose SHA-256, together with a salt, begins with many zero bits. The function is called once, with
// symbols for values, and what it does with them becomes a program for every device. So plain TypeScript (loops,
// functions, constants) costs nothing; what depends on values at run time is written with methods and with \`when\`.
const kernel = items(
  'zeros',
  {
    job: { bits: u32 }, // the same for all indices: \`job\` below, or --param bits=20
    hit: { digest: [u32, 8] }, // what is told of an index that was found
  },
  ({ job, index, emit }) => {
    const digest = sha256.hash([salt, index.lo]); // an index has 64 bits; these are the lower 32
    const zeros = digest[0].clz();
    when(zeros.ge(job.bits), () => emit({ digest }));
  },
);

export default {
  kernel,
  space: 2n ** 22n, // indices from 0 on; --space 2^32 for all that 32 bits have
  job: { bits: 18 },

  // Every hit is checked before it is told, by code that shares nothing with the kernel.
  verify({ index, digest }${isTypeScript ? ': { index: bigint; digest: readonly number[] }' : ''}) {
    const message = Buffer.alloc(8);
    message.writeUInt32BE(salt, 0);
    message.writeUInt32BE(Number(index), 4);
    const right = createHash('sha256').update(message).digest('hex');
    return digest.map((word) => word.toString(16).padStart(8, '0')).join('') === right;
  },
};
`;
