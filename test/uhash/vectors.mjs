/**
 * Checks UniversalHash on a device: the specification's hashes and proofs, difficulties and nonces at their limits, random
 * headers and nonces against the reference. For machines without the test suite.
 *
 *   node test/uhash/vectors.mjs [--device cuda,opencl:0,webgpu] [--batch 1026] [--dist dist] [--data vectors.json]
 *
 * Prints a line for each device; exits with 1 if a result was wrong.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'cuda' },
    batch: { type: 'string', default: '1026' },
    dist: { type: 'string', default: new URL('../../dist', import.meta.url).pathname },
    data: { type: 'string', default: new URL('../data/uhash/vectors.json', import.meta.url).pathname },
  },
});
const { openDevice } = await import(`${values.dist}/device/registry.js`);
const { between, Engine, search } = await import(`${values.dist}/engine/index.js`);
const { proofs } = await import(`${values.dist}/workload/uhash/job/flow.js`);
const { createProver } = await import(`${values.dist}/workload/uhash/job/prover.js`);
const { hashNonce, zeroBits } = await import(`${values.dist}/workload/uhash/kernel/reference.js`);
const { hash_vectors: hashes, proof_vectors: rows } = JSON.parse(readFileSync(values.data, 'utf8'));
const batch = Number(values.batch);
const zeros = new Uint8Array(32);
const bytes = (/** @type {string} */ text) => Uint8Array.from(Buffer.from(text, 'hex'));
const hex = (/** @type {Uint8Array} */ data) => Buffer.from(data).toString('hex');

for (const name of values.device.split(',')) {
  const device = await openDevice(name);
  const begun = performance.now();
  const checked = { hashes: 0, proofs: 0, difficulties: 0, nonces: 0, headers: 0 };
  /** @type {string[]} */
  const wrong = [];
  const check = (
    /** @type {keyof typeof checked} */ kind,
    /** @type {string} */ what,
    /** @type {string} */ actual,
    /** @type {string} */ expected,
  ) => {
    checked[kind] += 1;
    if (actual !== expected) wrong.push(`${what} gave ${actual} instead of ${expected}`);
  };
  try {
    await checkDigests(device, check);
    await checkProofs(device, check);
  } finally {
    await device.close();
  }
  const counts = Object.entries(checked).map(([kind, count]) => `${count} ${kind}`);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`${device.info.id}  ${device.info.name}  ${counts.join(', ')}: ${wrong.length} wrong  ${seconds} s`);
  for (const one of wrong) console.log(`  ${one}`);
  if (wrong.length > 0) process.exitCode = 1;
}

/** @typedef {(kind: 'hashes' | 'proofs' | 'difficulties' | 'nonces' | 'headers', what: string, actual: string, expected: string) => void} Check */

/**
 * @param {any} device
 * @param {Check} check
 */
async function checkDigests(device, check) {
  const digestsOf = async (
    /** @type {Uint8Array} */ header,
    /** @type {bigint} */ start,
    /** @type {bigint} */ count,
  ) => {
    const engine = new Engine([device], { streams: 1, slots: 1 });
    const found = [];
    try {
      const flow = proofs({ header, difficulty: 0 }, { batch: 6, wanted: 'digests' });
      for await (const { hash } of search(flow, { engine, space: between(start, start + count) }))
        found.push(hex(hash));
    } finally {
      await engine.close();
    }
    return found;
  };
  for (const { name, input_hex: input, nonce, hash } of hashes) {
    const header = input.length < 16 ? new Uint8Array() : bytes(input.slice(0, -16));
    const [actual = 'nothing'] = await digestsOf(header, BigInt(nonce), 1n);
    check('hashes', name, actual, hash);
  }
  for (const start of [2n ** 32n - 3n, 2n ** 53n - 3n, 2n ** 64n - 9n]) {
    const actual = await digestsOf(zeros, start, 6n);
    for (let at = 0n; at < 6n; at++)
      check('nonces', `nonce ${start + at}`, actual[Number(at)] ?? 'nothing', hex(hashNonce(zeros, start + at)));
  }
  let state = 20261115;
  const random = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  for (const length of [0, 1, 31, 61, 1015, 1017, 1020, 2049, 5000]) {
    const header = Uint8Array.from({ length }, () => random() % 256);
    const nonce = (BigInt(random()) << 32n) | BigInt(random());
    const [actual = 'nothing'] = await digestsOf(header, nonce, 1n);
    check('headers', `${length} bytes and nonce ${nonce}`, actual, hex(hashNonce(header, nonce)));
  }
}

/**
 * @param {any} device
 * @param {Check} check
 */
async function checkProofs(device, check) {
  const prover = createProver(device, { batch });
  const find = async (
    /** @type {Uint8Array} */ header,
    /** @type {number} */ difficulty,
    /** @type {bigint} */ start,
    /** @type {bigint} */ count,
  ) => {
    const { proof } = await prover.find({ start, count, challenge: { header, difficulty } });
    return proof ? `${proof.nonce} ${hex(proof.hash)}` : 'none';
  };
  try {
    for (const { challenge, records } of rows) {
      for (const { leading_zero_bits: bits, nonce, hash } of records) {
        const actual = await find(bytes(challenge), bits, 0n, BigInt(nonce) + 1n + BigInt(batch));
        check('proofs', `${bits} bits of ${challenge.slice(0, 8)}…`, actual, `${nonce} ${hash}`);
      }
    }
    const digests = Array.from({ length: 5 }, (_, at) => hashNonce(zeros, 20n + BigInt(at)));
    for (const difficulty of [0, 1, 255, 256]) {
      const at = digests.findIndex((digest) => zeroBits(digest) >= difficulty);
      const expected = at < 0 ? 'none' : `${20 + at} ${hex(digests[at] ?? zeros)}`;
      check('difficulties', `difficulty ${difficulty}`, await find(zeros, difficulty, 20n, 5n), expected);
    }
    // A proof on either side of 2^32 within one call.
    for (const start of [2n ** 32n - 20n]) {
      const all = Array.from({ length: 40 }, (_, at) => ({
        nonce: start + BigInt(at),
        hash: hashNonce(zeros, start + BigInt(at)),
      }));
      const maxBits = Math.max(...all.slice(20).map(({ hash }) => zeroBits(hash)));
      for (const difficulty of new Set([2, maxBits])) {
        const expected = all.find(({ hash }) => zeroBits(hash) >= difficulty);
        check(
          'proofs',
          `${difficulty} bits across 2^32`,
          await find(zeros, difficulty, start, 40n),
          expected ? `${expected.nonce} ${hex(expected.hash)}` : 'none',
        );
      }
    }
  } finally {
    await prover.close();
  }
}
