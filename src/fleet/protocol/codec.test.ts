import { describe, expect, test } from 'vitest';
import { between } from '../../engine/work/space.js';
import {
  decodeCoordinatorMessage,
  decodeResult,
  decodeWorkerMessage,
  encodeMessage,
  senderOfOtherVersion,
} from './codec.js';
import { Coordinator } from './coordinator/coordinator.js';
import type { CoordinatorEffect, CoordinatorEvent } from './events.js';
import type { CoordinatorMessage, ResultMessage, WorkerMessage } from './messages.js';

const claim = { job: 'j', id: '3.7', range: between(5n, 1n << 128n) };
const fromWorker: WorkerMessage[] = [
  { kind: 'want', worker: 'w', request: 1, rates: [{ job: 'j', perMs: 0.25 }], only: ['gaps'] },
  { kind: 'want', worker: 'w', request: 2, rates: [] },
  { kind: 'beat', worker: 'w', answered: 1, rates: [], leases: [{ ...claim, token: 't', left: 1n << 127n }] },
  { kind: 'leave', worker: 'w', reason: 'asked to' },
  { kind: 'refuse', worker: 'w', job: 'j', reason: 'no such workload' },
];
const result: ResultMessage = {
  kind: 'result',
  worker: 'w',
  number: 4,
  claim,
  token: 't',
  ranges: [between(5n, 9n)],
  hits: [
    { index: 7n, fields: { start: 1n << 100n, length: -0, list: [Number.NaN, true, 'x'], index: 3, fields: null } },
  ],
};
const fromCoordinator: CoordinatorMessage[] = [
  { kind: 'grant', term: 3, request: 1, claim, token: 't', ms: 2000, beatMs: 2000 },
  { kind: 'none', term: 3, request: 1, retryMs: 1000, beatMs: 2000 },
  { kind: 'none', term: 3, request: 1, retryMs: 1000, beatMs: 2000, reason: 'its results were wrong' },
  {
    kind: 'state',
    term: 3,
    beatMs: 2000,
    jobs: [{ job: 'j', state: 'paused', end: 9n }],
    lost: ['3.6'],
    isDraining: true,
  },
  { kind: 'drop', term: 3, job: 'j', range: between(6n, 8n) },
  { kind: 'committed', term: 3, numbers: [1, 2], refused: [{ number: 3, reason: 'a hit is wrong' }] },
  { kind: 'job', term: 3, state: { job: 'j', state: 'running', end: 1n << 128n } },
  { kind: 'announce', term: 3 },
];

describe('messages', () => {
  test('are read back as they were', () => {
    for (const message of fromWorker) expect(decodeWorkerMessage(encodeMessage(message))).toEqual(message);
    for (const message of fromCoordinator) expect(decodeCoordinatorMessage(encodeMessage(message))).toEqual(message);
    expect(decodeResult(encodeMessage(result))).toEqual(result);
  });

  test('have a form that others can read', () => {
    expect(Buffer.from(encodeMessage(fromCoordinator[4]!)).toString()).toBe(
      '{"job":"j","kind":"drop","range":["6","8"],"term":3,"version":1}',
    );
  });

  test.each<[string, RegExp, string]>([
    ['not JSON', /not JSON/, '{'],
    ['of another version', /version is 2/, '{"version":2,"kind":"announce","term":1}'],
    ['of another kind', /kind "result" is unknown/, '{"version":1,"kind":"result","term":1}'],
    ['with a field of another type', /term is not/, '{"version":1,"kind":"announce","term":"1"}'],
    ['with a range backwards', /range is not/, '{"version":1,"kind":"drop","term":1,"job":"j","range":["8","6"]}'],
    [
      'with a number that is too large',
      /range is not/,
      `{"version":1,"kind":"drop","term":1,"job":"j","range":["1","${10n ** 60n}"]}`,
    ],
    [
      'with a state of no job',
      /not a state/,
      '{"version":1,"kind":"job","term":1,"state":{"job":"j","state":"x","end":"1"}}',
    ],
  ])('%s are refused', (_, message, text) => {
    expect(() => decodeCoordinatorMessage(Buffer.from(text))).toThrow(
      expect.objectContaining({ code: 'input-format', summary: expect.stringMatching(message) }),
    );
  });

  test('of an earlier version are read as far as they are accepted, and say which version it is', () => {
    const bytes = encodeMessage(fromWorker[1]!, 2);
    expect(decodeWorkerMessage(bytes, { oldest: 2, current: 3 })).toEqual({ ...fromWorker[1], version: 2 });
    expect(decodeResult(encodeMessage(result, 2), { oldest: 1, current: 3 })).toEqual(result);
    expect(() => decodeWorkerMessage(bytes, { oldest: 3, current: 4 })).toThrow(/version is 2; .* reads 3 to 4/);
    expect(senderOfOtherVersion(bytes, { oldest: 3, current: 4 })).toBe('w');
    expect(senderOfOtherVersion(bytes, { oldest: 2, current: 4 })).toBeUndefined();
  });

  test('of no kind of worker are refused, and results only as results', () => {
    const beat = encodeMessage(fromWorker[2]!);
    expect(() => decodeResult(beat)).toThrow(/kind "beat"/);
    expect(() => decodeWorkerMessage(encodeMessage(result))).toThrow(/kind "result"/);
    expect(() => decodeWorkerMessage(new Uint8Array(2 << 20))).toThrow(/more than/);
  });
});

describe('a worker of the first release', () => {
  /** Frames as it writes them: without the fields that were added later. */
  const frames = {
    want: '{"kind":"want","rates":[],"request":1,"version":1,"worker":"old"}',
    beat: (id: string) =>
      `{"answered":1,"kind":"beat","leases":[{"id":"${id}","job":"j","left":"90","range":["0","100"],"token":"t"}],"rates":[{"job":"j","perMs":5}],"version":1,"worker":"old"}`,
    result: (id: string) =>
      `{"claim":{"id":"${id}","job":"j","range":["0","100"]},"hits":[["7",{"value":3}]],"kind":"result","number":1,"ranges":[["0","100"]],"token":"t","version":1,"worker":"old"}`,
  };

  test('gets work, is believed and sees the job end', () => {
    const tokens = { make: () => 't', isValid: () => true };
    const coordinator = new Coordinator({ term: 1, tokens, now: 0 });
    const tell = (event: CoordinatorEvent, now: number) => coordinator.handle(event, now);
    tell({ kind: 'add', job: { id: 'j', name: 'kernel', space: between(0n, 100n), mode: 'all' } }, 0);
    const sent = (effects: readonly CoordinatorEffect[]) =>
      effects.flatMap((effect) => (effect.kind === 'send' ? [String(Buffer.from(encodeMessage(effect.message)))] : []));
    const said = (text: string, now: number) =>
      sent(tell({ kind: 'message', message: decodeWorkerMessage(Buffer.from(text)) }, now));
    const grant = JSON.parse(said(frames.want, 1)[0]!);
    const { id } = grant.claim;
    // What it reads of the answer.
    expect(grant).toMatchObject({
      ...{ version: 1, kind: 'grant', term: 1, request: 1, token: 't', ms: 10_000, beatMs: 2000 },
      claim: { job: 'j', id: expect.any(String), range: ['0', '100'] },
    });
    expect(JSON.parse(said(frames.beat(id), 2)[0]!)).toMatchObject({
      ...{ version: 1, kind: 'state', lost: [], isDraining: false },
      jobs: [{ job: 'j', state: 'running', end: '100' }],
    });
    const result = decodeResult(Buffer.from(frames.result(id)));
    tell({ kind: 'result', receipt: 1, result }, 3);
    const committing = tell({ kind: 'verified', receipt: 1 }, 4);
    expect(committing).toMatchObject([
      { kind: 'commit', entries: [{ ranges: [between(0n, 100n)], hits: [{ index: 7n }] }] },
    ]);
    const [committed] = sent(tell({ kind: 'committed' }, 5));
    expect(JSON.parse(committed!)).toEqual({ version: 1, kind: 'committed', term: 1, numbers: [1], refused: [] });
  });

  test('ignores what later releases add to a message', () => {
    const text = '{"kind":"drop","job":"j","range":["6","8"],"term":3,"version":1,"later":{"more":[1]}}';
    expect(decodeCoordinatorMessage(Buffer.from(text))).toEqual(fromCoordinator[4]);
  });
});
