import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { typedName } from '../console/command/typed-name.js';
import type { CommandResult } from '../console/output/output.js';
import { MillraceError } from '../kernel/error.js';

/** `millrace init` */
export function initCommand(): Command {
  const command = new Command('init')
    .description('write a small example kernel for `millrace run`')
    .argument('[file]', 'file to create; its name ends in .ts, .mts, .js or .mjs', 'kernel.ts')
    .action(action(init));
  return withExamples(command, ['millrace init', 'write kernel.ts'], ['millrace init search.mjs', 'in JavaScript']);
}

async function init({ output, args: [file = ''] }: Call<object>): Promise<CommandResult> {
  if (!/\.m?[jt]s$/.test(file)) {
    throw new MillraceError({
      code: 'usage',
      message: `${file} is not the name of a TypeScript or JavaScript file`,
      asked: `to write ${file}`,
      advice: 'use a name that ends in .ts, .mts, .js or .mjs',
    });
  }
  try {
    await writeFile(file, template(/ts$/.test(file)), { flag: 'wx' });
  } catch (cause) {
    throw notWrittenError(file, cause as NodeJS.ErrnoException);
  }
  const command = `${typedName()} run ${/^[\w./-]+$/.test(file) ? file : JSON.stringify(file)}`;
  output.say(`wrote ${file}; run it with`);
  output.line(command);
  return { exit: Exit.ok, answer: { file, command } };
}

function notWrittenError(file: string, cause: NodeJS.ErrnoException): MillraceError {
  const exists = cause.code === 'EEXIST';
  return new MillraceError({
    code: exists ? 'usage' : 'io',
    message: exists ? `${file} already exists` : `cannot write ${file}: ${cause.message}`,
    asked: `to write ${file}`,
    advice: exists ? 'give another name, or remove it first' : 'name a file in a writable folder',
    cause,
  });
}

/** The JavaScript version differs only by the one type. */
const template = (isTypeScript: boolean): string => `import { createHash } from 'node:crypto';
import { items, sha256, u32, when } from 'millrace';

const salt = 2026;

// Finds numbers whose SHA-256, together with a salt, begins with many zero bits. The function is called with
// symbolic values, and its operations on them become a program for every device. Plain TypeScript (loops, functions,
// constants) therefore costs nothing at run time; code that depends on run-time values uses methods and \`when\`.
const kernel = items(
  'zeros',
  {
    job: { bits: u32 }, // the same for all indices: \`job\` below, or --param bits=20
    hit: { digest: [u32, 8] }, // reported for each index that hits
  },
  ({ job, index, emit }) => {
    const digest = sha256.hash([salt, index.hi, index.lo]); // an index has 64 bits
    const zeros = digest[0].clz();
    when(zeros.ge(job.bits), () => emit({ digest }));
  },
);

export default {
  kernel,
  space: 2n ** 22n, // number of indices, from 0; --space 2^32 covers all numbers of 32 bits
  job: { bits: 18 },

  // Checks every hit before it is reported, with code that shares nothing with the kernel.
  verify({ index, digest }${isTypeScript ? ': { index: bigint; digest: readonly number[] }' : ''}) {
    const message = Buffer.alloc(12);
    message.writeUInt32BE(salt, 0);
    message.writeBigUInt64BE(index, 4);
    const right = createHash('sha256').update(message).digest('hex');
    return digest.map((word) => word.toString(16).padStart(8, '0')).join('') === right;
  },
};
`;
