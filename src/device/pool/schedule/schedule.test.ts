import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import {
  CommandKind,
  MarkField,
  mapBoard,
  newBoard,
  Outcome,
  PoolWord,
  StreamWord,
  slotOffset,
  streamWordOffset,
} from '../board.js';
import { newSliceTask, SliceScheduler, type SliceTask } from './schedule.js';

/** A pool in one thread: imaginary workers hold slices and finish them in any order. */
class Play {
  readonly board = mapBoard(newBoard().memory);
  readonly schedule: SliceScheduler;
  readonly tasks: SliceTask[] = [];
  time = 0n;

  constructor(streams: number, threads: number) {
    this.board.words[PoolWord.streams] = streams;
    this.schedule = new SliceScheduler(
      this.board,
      threads,
      () => ++this.time,
      (address) => address,
    );
  }

  push(stream: number, command: readonly number[]): void {
    const tail = streamWordOffset(stream) + StreamWord.tail;
    const { words, doubles } = this.board;
    doubles.set(command, slotOffset(stream, words[tail]!));
    words[tail]!++;
  }

  launch(stream: number, count: number, { countAt = 0, epoch = 0, program = 1, lanes = 4 } = {}): void {
    this.push(stream, [CommandKind.launch, 0, 0, count, countAt, lanes, program, epoch]);
  }

  head(stream: number): number {
    return this.board.words[streamWordOffset(stream) + StreamWord.head]!;
  }

  take(): SliceTask | undefined {
    const task = newSliceTask();
    if (this.schedule.takeSlice(task) < 0) return undefined;
    this.tasks.push(task);
    return task;
  }

  finish(task: SliceTask, finished = task.end - task.begin): void {
    this.tasks.splice(this.tasks.indexOf(task), 1);
    this.schedule.finishSlice(task, finished, 1000 * (task.end - task.begin));
  }

  outcome(stream: number, sequence: number): number {
    return this.board.doubles[slotOffset(stream, sequence) + MarkField.outcome]!;
  }
}

test('every item is handed out once, and the commands of a stream in order, whatever the timing', () => {
  const command = fc.oneof(
    fc.record({ kind: fc.constant('launch' as const), count: fc.integer({ min: 0, max: 5000 }) }),
    fc.record({ kind: fc.constant('mark' as const) }),
    fc.record({ kind: fc.constant('wait' as const), stream: fc.nat(2) }),
  );
  const scenario = fc.record({
    commands: fc.array(fc.tuple(fc.nat(2), command), { maxLength: 60 }),
    threads: fc.integer({ min: 1, max: 5 }),
    choices: fc.infiniteStream(fc.nat(1000)),
  });
  fc.assert(
    fc.property(scenario, ({ commands, threads, choices }) => {
      const play = new Play(3, threads);
      const marks = [0, 0, 0];
      const expected: number[][] = [[], [], []];
      for (const [stream, step] of commands) {
        if (step.kind === 'launch') {
          play.launch(stream, step.count);
          if (step.count > 0) expected[stream]!.push(step.count);
        } else if (step.kind === 'mark') {
          play.push(stream, [CommandKind.mark]);
          marks[stream]!++;
        } else if (marks[step.stream]! > 0) {
          play.push(stream, [CommandKind.wait, step.stream, marks[step.stream]!]);
        }
      }
      // Per stream, how far each launch was handed out; its slices must follow each other without a gap.
      const got: number[][] = [[], [], []];
      for (;;) {
        const pick = choices.next().value;
        const busy = play.tasks.length;
        const task = busy < threads && (busy === 0 || pick % 2 === 0) ? play.take() : undefined;
        if (task) {
          const launches = got[task.stream]!;
          if (task.begin === 0) launches.push(0);
          expect(task.begin).toBe(launches.at(-1));
          launches[launches.length - 1] = task.end;
        } else if (busy > 0) {
          play.finish(play.tasks[pick % busy]!);
        } else {
          break;
        }
      }
      expect(got).toEqual(expected);
      for (const s of [0, 1, 2]) expect(play.head(s)).toBe(play.board.words[streamWordOffset(s) + StreamWord.tail]);
    }),
    { numRuns: byTier(40, 200) },
  );
});

test('a launch waits for all slices of the one before it', () => {
  const play = new Play(1, 2);
  play.launch(0, 8);
  play.launch(0, 4);
  const first = play.take()!;
  const second = play.take()!;
  expect([first.begin, first.end, second.begin, second.end]).toEqual([0, 4, 4, 8]);
  expect(play.take()).toBeUndefined();
  play.finish(first);
  expect(play.take()).toBeUndefined();
  play.finish(second);
  expect(play.take()).toMatchObject({ begin: 0, end: 4 });
});

test('streams take turns', () => {
  const play = new Play(3, 1);
  for (const stream of [0, 1, 2]) play.launch(stream, 1e6, { program: stream + 1 });
  const served = Array.from({ length: 9 }, () => {
    const task = play.take()!;
    play.finish(task);
    return task.stream;
  });
  expect(served).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2]);
});

test('a wait holds its stream until the mark is passed, in either order of the streams', () => {
  for (const [waiting, other] of [
    [0, 1],
    [1, 0],
  ] as const) {
    const play = new Play(2, 1);
    play.push(waiting, [CommandKind.wait, other, 1]);
    play.launch(waiting, 4);
    expect(play.take()).toBeUndefined();
    play.launch(other, 4);
    play.push(other, [CommandKind.mark]);
    const task = play.take()!;
    expect(task.stream).toBe(other);
    expect(play.take()).toBeUndefined();
    play.finish(task);
    expect(play.take()).toMatchObject({ stream: waiting });
  }
});

test('an unfinished slice makes the mark incomplete and ends its launch', () => {
  const play = new Play(1, 2);
  play.launch(0, 100);
  play.push(0, [CommandKind.mark]);
  play.launch(0, 4);
  play.push(0, [CommandKind.mark]);
  const task = play.take()!;
  play.finish(task, 1);
  const next = play.take()!;
  expect(next).toMatchObject({ begin: 0, end: 4 });
  play.finish(next);
  play.take();
  expect(play.outcome(0, 1)).toBe(Outcome.incomplete);
  expect(play.outcome(0, 3)).toBe(Outcome.complete);
});

test('launches of an older epoch are skipped as incomplete; transfers are not', () => {
  const play = new Play(1, 1);
  play.launch(0, 4);
  play.push(0, [CommandKind.copy, 0, 0, 16]);
  play.push(0, [CommandKind.mark]);
  play.board.words[streamWordOffset(0) + StreamWord.epoch] = 1;
  play.launch(0, 4, { epoch: 1 });
  play.push(0, [CommandKind.mark]);
  const copy = play.take()!;
  expect(copy.kind).toBe(CommandKind.copy);
  play.finish(copy);
  const launch = play.take()!;
  expect(launch.kind).toBe(CommandKind.launch);
  play.finish(launch);
  play.take();
  expect(play.outcome(0, 2)).toBe(Outcome.incomplete);
  expect(play.outcome(0, 4)).toBe(Outcome.complete);
});

test('a launch cancelled after its last item is complete', () => {
  const play = new Play(1, 1);
  play.launch(0, 4);
  play.push(0, [CommandKind.mark]);
  const task = play.take()!;
  play.board.words[streamWordOffset(0) + StreamWord.epoch] = 1;
  play.finish(task);
  play.take();
  expect(play.outcome(0, 1)).toBe(Outcome.complete);
});

test('a trap skips to the mark, which reports it; the next mark is clean', () => {
  const play = new Play(1, 1);
  play.launch(0, 4, { program: 9 });
  play.launch(0, 4);
  play.push(0, [CommandKind.mark]);
  play.launch(0, 4);
  play.push(0, [CommandKind.mark]);
  const task = play.take()!;
  const word = streamWordOffset(0);
  play.board.words.set([1, 3, 7, 2], word + StreamWord.trap);
  play.finish(task, 2);
  const after = play.take()!;
  expect(play.head(0)).toBe(3);
  play.finish(after);
  play.take();
  const mark = slotOffset(0, 2);
  expect(play.outcome(0, 2)).toBe(Outcome.trapped);
  expect(play.board.doubles[mark + MarkField.program]).toBe(9);
  expect(play.board.doubles[mark + MarkField.site]).toBe(3);
  expect(play.board.doubles[mark + MarkField.index]).toBe(7 + 2 * 2 ** 32);
  expect(play.outcome(0, 4)).toBe(Outcome.complete);
});

test('the count is read from memory when the launch starts, up to its limit', () => {
  const play = new Play(1, 1);
  const handedOut = (): number => {
    let items = 0;
    for (let task = play.take(); task; task = play.take()) {
      items += task.end - task.begin;
      play.finish(task);
    }
    return items;
  };
  play.launch(0, 100, { countAt: 10 }); // each address of the simulated memory holds itself
  expect(handedOut()).toBe(10);
  play.launch(0, 100, { countAt: 1000 });
  expect(handedOut()).toBe(100);
});

test('counters wrap at 2^31 and 2^32', () => {
  const play = new Play(1, 1);
  for (const start of [0x7fff_fffe, -2]) {
    const word = streamWordOffset(0);
    for (const at of [StreamWord.head, StreamWord.tail, StreamWord.marksPassed]) play.board.words[word + at] = start;
    for (let i = 0; i < 4; i++) play.push(0, [CommandKind.mark]);
    play.push(0, [CommandKind.wait, 0, (start + 4) | 0]);
    play.launch(0, 4);
    play.finish(play.take()!);
    expect(play.head(0)).toBe((start + 6) | 0);
  }
});
