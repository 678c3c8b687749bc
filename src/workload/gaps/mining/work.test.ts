import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { parseExact } from '../../../network/json-exact.js';
import type { Reply } from '../../../network/json-lines.js';
import { headerBytes, submission } from '../kernel/reference.js';
import { candidateText } from './description.js';
import { parseAnswer } from './stratum.js';
import {
  type HashedHeader,
  headerAt,
  headerCount,
  headerOf,
  minGapToSearch,
  parseGetworkData,
  shareOf,
  type Work,
  workOfGetworkData,
} from './work.js';

/** Blocks of the chain, and messages about one of them. */
const data = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/gaps/${name}`, import.meta.url), 'utf8'));
const blocks = data('blocks.json') as Block[];
const protocol = data('protocol.json') as Protocol;

interface Block {
  readonly name: string;
  readonly getwork_data_hex: string;
  readonly header84_hex: string;
  readonly submit_hex: string;
  readonly hash_display: string;
  readonly nonce: number;
  readonly shift: number;
  readonly adder: string;
  readonly gap: number;
  readonly start: string;
  readonly difficulty_fixed: string;
  readonly ndifficulty: string;
}

interface Protocol {
  readonly rpc_getwork_response: { readonly result: unknown };
  readonly rpc_submit_request: { readonly params: readonly string[] };
  readonly stratum_work_response_line: string;
  readonly stratum_notify_line: string;
  readonly stratum_submit_line: string;
  readonly expected_after_parse: Readonly<Record<'network_target' | 'share_target' | 'share_difficulty', string>>;
  readonly js_number_trap: { readonly difficulty_json_text: string; readonly exact: string };
}

const workOf = (block: Block): Work =>
  workOfGetworkData(parseGetworkData('x', { data: block.getwork_data_hex, difficulty: block.ndifficulty }), '1');

describe('blocks of the chain', () => {
  it.each(blocks.map((block) => [block.name, block] as const))('%s is submitted byte for byte', (_, block) => {
    const work = workOf(block);
    const turn = headerAt(work, BigInt(block.nonce)) as HashedHeader;
    expect(turn.hash.toString(16)).toBe(block.hash_display);
    const gap = { offset: BigInt(block.adder), end: BigInt(block.start) + BigInt(block.gap) };
    const share = shareOf(work, turn, block.shift, gap)!;
    expect(share.difficulty).toBe(BigInt(block.difficulty_fixed));
    expect(share.isBlock).toBe(BigInt(block.difficulty_fixed) >= BigInt(block.ndifficulty));
    expect(submission(headerOf(share))).toBe(block.submit_hex);
    expect(block.gap).toBeGreaterThanOrEqual(minGapToSearch(share.start, work.target));
  });

  it('an adder outside the shift never makes a share', () => {
    const block = blocks.find(({ name }) => name.includes('1385452'))!;
    const work = workOf(block);
    const turn = headerAt(work, BigInt(block.nonce)) as HashedHeader;
    const end = turn.hash << 40n;
    expect(shareOf(work, turn, 32, { offset: 2n ** 32n, end })).toBeUndefined();
    expect(shareOf(work, turn, 32, { offset: -1n, end })).toBeUndefined();
    expect(shareOf(work, turn, 32, { offset: 2n ** 32n - 1n, end })).toBeDefined();
  });

  it('are logged with hash, adder, difficulty, target and ratio', () => {
    const block = blocks.find(({ name }) => name.includes('1385452'))!;
    const work = workOf(block);
    const turn = headerAt(work, BigInt(block.nonce)) as HashedHeader;
    const share = shareOf(work, turn, 32, { offset: 20540019n, end: BigInt(block.start) + BigInt(block.gap) })!;
    expect(candidateText(share)).toBe(
      `submit-candidate: offset=20540019 target=6244144922783894 pow_valid=true ratio=1.028898 share_difficulty=6424591240180635 mpz_hash=0x${block.hash_display} mpz_adder=0x1396a73`,
    );
  });
});

describe('messages about block 1385452', () => {
  const block = blocks.find(({ name }) => name.includes('1385452'))!;
  const { network_target: network, share_target: shares } = protocol.expected_after_parse;

  it('of a node are parsed', () => {
    const given = parseGetworkData('getwork', protocol.rpc_getwork_response.result);
    expect([given.target, given.header.difficulty]).toEqual([BigInt(network), BigInt(network)]);
  });

  it('of a pool are parsed, for requested and pushed work, and the submission is the same', () => {
    const answer = parseAnswer(parseExact(protocol.stratum_work_response_line) as Reply, 'user.worker');
    const pushed = parseExact(protocol.stratum_notify_line) as { readonly method: string; readonly params: unknown };
    expect(parseGetworkData(pushed.method, pushed.params)).toEqual(answer);
    expect([answer.target, answer.header.difficulty]).toEqual([BigInt(shares), BigInt(network)]);
    const work = workOfGetworkData(answer, '1');
    const gap = { offset: BigInt(block.adder), end: BigInt(block.start) + BigInt(block.gap) };
    const share = shareOf(work, headerAt(work, BigInt(block.nonce)) as HashedHeader, block.shift, gap)!;
    expect(share.isBlock).toBe(true);
    const submit = { id: 1, method: 'mining.submit', params: ['user.worker', 'pass', submission(headerOf(share))] };
    expect(submit).toEqual(JSON.parse(protocol.stratum_submit_line));
  });

  it('keep a difficulty that does not fit a double', () => {
    const { difficulty_json_text: text, exact } = protocol.js_number_trap;
    const given = parseExact(`{"data":"${block.getwork_data_hex}","difficulty":${text}}`);
    expect(parseGetworkData('x', given).target).toBe(BigInt(exact));
    expect(BigInt(JSON.parse(text) as number)).not.toBe(BigInt(exact));
  });
});

describe('headers of a work unit', () => {
  const work = workOf(blocks[3]!);

  it('cover all nonces, then the next second, for ten minutes', () => {
    expect(headerCount(work)).toBe(601n << 32n);
    const usable = (from: bigint): HashedHeader => {
      for (let n = from; ; n++) {
        const turn = headerAt(work, n);
        if (turn) return turn;
      }
    };
    expect(usable(0n).time).toBe(work.header.time);
    expect(usable(0n).nonce).toBeLessThan(100);
    expect(usable(600n << 32n)).toMatchObject({ time: work.header.time + 600 });
  });

  it('are usable only if the hash has 256 bits: about half', () => {
    const turns = Array.from({ length: 400 }, (_, n) => headerAt(work, BigInt(n)));
    const usable = turns.flatMap((turn) => turn ?? []);
    expect(usable.every(({ hash }) => hash >> 255n === 1n)).toBe(true);
    expect(usable.length).toBeGreaterThan(100);
    expect(usable.length).toBeLessThan(300);
  });

  it("are the work's header with their own nonce and time", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: (601n << 32n) - 1n }), (n) => {
        const found = headerAt(work, n);
        if (!found) return;
        const { nonce, time, hash } = found;
        expect((BigInt(time - work.header.time) << 32n) | BigInt(nonce)).toBe(n);
        const bytes = headerBytes({ ...work.header, time, nonce });
        const digest = (of: Uint8Array): Buffer => createHash('sha256').update(of).digest();
        expect(hash.toString(16)).toBe(
          digest(digest(bytes.subarray(0, 84)))
            .reverse()
            .toString('hex'),
        );
      }),
      { numRuns: byTier(10, 50) },
    );
  });

  it('have a searchable minimum gap at extreme difficulties', () => {
    const start = 1n << 287n;
    expect(minGapToSearch(start, 1n)).toBe(2);
    expect(minGapToSearch(start, 2n ** 64n - 1n)).toBe(2 ** 16);
  });
});
