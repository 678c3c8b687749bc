// Rates of hashing the words of a mask, Millrace and hashcat in turns.
//   npm run build && node test/words/hash-peers.mjs [--device cuda:0] [--rounds 3]
// Millrace looks for the last word of the mask with examples/mask.mjs, and has to find it. hashcat measures itself (`-b`).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda:0' },
    rounds: { type: 'string', default: '3' },
    short: { type: 'boolean', default: false },
  },
});
const example = fileURLToPath(new URL('../../examples/mask.mjs', import.meta.url));
/** Mode of hashcat, a mask that an H200 searches in about two seconds, and the mask's last word. */
const hashes = /** @type {const} */ ([
  ['md5', 0, '?l?l?l?l?l?l?l?l'],
  ['sha256', 1400, '?l?l?l?l?l?l?l?d'],
  ['sha3-256', 17400, '?l?l?l?l?l?l?d?d'],
]);

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: exit status ${status}\n${stdout}${stderr}`);
  return stdout;
}

/** @param {string} name @param {string} mask */
function ours(name, mask) {
  const [word = '', rate = ''] = run(process.execPath, [example, values.device, name, mask]).split('\n');
  const last = mask.replaceAll('?l', 'z').replaceAll('?d', '9');
  if (word !== last) throw new Error(`${name}: ${word} is not ${last}`);
  return Number.parseFloat(rate);
}

/** @param {number} mode */
function hashcat(mode) {
  const lines = run('hashcat', ['-b', '-m', String(mode), '--machine-readable', '--quiet']).split('\n');
  // device:mode:…:…:…:hashes a second
  const fields = lines.find((line) => line.startsWith('1:'))?.split(':');
  return Number(fields?.at(-1)) / 1e9;
}

const text = (/** @type {number[]} */ rates) => rates.map((rate) => rate.toFixed(2)).join(', ');
for (const [name, mode, mask] of hashes) {
  const own = /** @type {number[]} */ ([]);
  const theirs = /** @type {number[]} */ ([]);
  for (let round = 0; round < Number(values.rounds); round++) {
    own.push(ours(name, values.short ? '?l?l?l?d' : mask));
    if (!values.short) theirs.push(hashcat(mode));
  }
  console.log(`${name.padEnd(9)} Millrace ${text(own)} GH/s   hashcat ${text(theirs)} GH/s`);
}
