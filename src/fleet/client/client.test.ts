import { describe, expect, test } from 'vitest';
import { between } from '../../engine/work/space.js';
import { decodeCall, encodeAnswer, encodeError } from '../calls.js';
import { type Manifest, manifestId, type PlainRecord, signingKey } from '../manifest/index.js';
import { FleetClient } from './client.js';
import { FleetSearch } from './fleet-search.js';

const manifest: Manifest = {
  work: { kind: 'workload', name: 'gaps', version: 1, params: {} },
  space: between(0n, 100n),
  mode: 'all',
};
const part = Uint8Array.from([1, 2, 3]);
const key = signingKey();
const job = { manifest, attachments: new Map([[manifestId(part), part]]) };

/** A coordinator that is replaced before its nth call, by one that knows nothing. */
class Coordinators {
  readonly calls: string[] = [];
  readonly #replacedBefore: readonly number[];
  #isSubmitted = false;
  #hasPart = false;

  constructor(...replacedBefore: readonly number[]) {
    this.#replacedBefore = replacedBefore;
  }

  async call(bytes: Uint8Array): Promise<Uint8Array> {
    const { call, fields } = decodeCall(bytes);
    this.calls.push(call);
    if (this.#replacedBefore.includes(this.calls.length)) [this.#isSubmitted, this.#hasPart] = [false, false];
    return this.#answer(call, fields);
  }

  #answer(call: string, { resubmits }: PlainRecord): Uint8Array {
    if (call === 'submit') {
      this.#isSubmitted = true;
      return encodeAnswer({ job: 'ab'.repeat(32), missing: this.#hasPart ? [] : [manifestId(part)] });
    }
    if (!this.#isSubmitted) return resubmits ? encodeAnswer({ isUnknown: true }) : encodeError(new Error('unknown'));
    if (call === 'attach') this.#hasPart = true;
    return encodeAnswer(call === 'attach' ? { next: -1 } : {});
  }
}

describe('a job is submitted', () => {
  test.for([
    [[], ['submit', 'attach', 'start']],
    [[2], ['submit', 'attach', 'submit', 'attach', 'start']],
    [[3], ['submit', 'attach', 'start', 'submit', 'attach', 'start']],
  ] as const)('although coordinators are replaced before calls %j', async ([replaced, calls]) => {
    const coordinators = new Coordinators(...replaced);
    expect(await new FleetClient(coordinators).submit(job, key)).toBe('ab'.repeat(32));
    expect(coordinators.calls).toEqual(calls);
  });

  test('for a limited time', async () => {
    const coordinators = new Coordinators(...Array.from({ length: 1000 }, (_, at) => 2 * at));
    await expect(new FleetClient(coordinators, 0).submit(job, key)).rejects.toThrow(/unknown/);
  });
});

describe('an attachment is fetched', () => {
  const text = (bytes: string): string => Buffer.from(bytes).toString('base64');
  /** Fetches from a coordinator that gives these answers. */
  const fetched = async (...answers: readonly PlainRecord[]): Promise<string> => {
    const left = [...answers];
    const call = async (): Promise<Uint8Array> => encodeAnswer(left.shift() ?? {});
    return Buffer.from(await new FleetClient({ call }, 0).fetch('ab'.repeat(32))).toString();
  };

  test('in pieces', async () => {
    expect(await fetched({ total: 5, bytes: text('abc') }, { total: 5, bytes: text('de') })).toBe('abcde');
    expect(await fetched({ total: 0, bytes: '' })).toBe('');
  });

  test.for<[what: string, ...answers: PlainRecord[]]>([
    ['ends early', { total: 5, bytes: text('abc') }, { total: 5, bytes: '' }],
    ['is longer than was said', { total: 5, bytes: text('abc') }, { total: 5, bytes: text('def') }],
    ['changes its length', { total: 5, bytes: text('abc') }, { total: 6, bytes: text('def') }],
  ])('but not if it %s', async ([, ...answers]) => {
    await expect(fetched(...answers)).rejects.toThrow('other bytes of an attachment than it said');
  });

  test('again when the coordinator does not know it, and stays paused', async () => {
    const coordinators = new Coordinators(4); // before the first poll
    const search: FleetSearch = new FleetSearch(new FleetClient(coordinators), job, key, new AbortController().signal, {
      onStart: () => search.pause(true),
    });
    const hits = async () => {
      for await (const { index } of search) throw new Error(`a hit at ${index}`);
    };
    await expect(hits()).rejects.toThrow('term is not a whole number'); // these answer no poll of a job that they know
    const again = ['submit', 'attach', 'start', 'control', 'poll'];
    expect(coordinators.calls).toEqual([...again, ...again, 'control']);
  });
});
