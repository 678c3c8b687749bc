import type { ReportDetail } from '../../device.js';
import { type Board, Outcome, RESULTS, Result, resultNumber, tellMain, Word } from './board.js';

/** A result that the worker reports for a line through the board. */
export type LineResult =
  | {
      readonly kind: 'passed';
      readonly line: number;
      readonly mark: number;
      readonly startedNs: bigint;
      readonly endedNs: bigint;
      /** When the worker noticed it. */
      readonly noticedNs: bigint;
      readonly complete: boolean;
      readonly detail?: ReportDetail | undefined;
    }
  | {
      readonly kind: 'trapped';
      readonly line: number;
      readonly mark: number;
      readonly program: number;
      readonly site: number;
      readonly index: number;
      readonly length: number;
    }
  | { readonly kind: 'noted'; readonly line: number; readonly mark: number }
  | { readonly kind: 'closed'; readonly line: number };

/** The worker's side. Results that find no free slot wait until the main thread has taken some. */
export class ResultWriter {
  readonly #board: Board;
  #waiting: LineResult[] = [];
  #written = 0;
  #told = 0;

  constructor(board: Board) {
    this.#board = board;
  }

  get full(): boolean {
    return this.#waiting.length > 0;
  }

  put(result: LineResult): void {
    if (this.full || !this.#room()) this.#waiting.push(result);
    else this.#write(result);
  }

  /** Called once a turn: writes results that waited, and notifies the main thread. */
  flush(): void {
    if (this.full) {
      let at = 0;
      for (let next = this.#waiting[at]; next && this.#room(); next = this.#waiting[++at]) this.#write(next);
      this.#waiting = this.#waiting.slice(at);
    }
    if (this.#told === this.#written) return;
    this.#told = this.#written;
    Atomics.store(this.#board.words, Word.results, this.#written);
    tellMain(this.#board.words);
  }

  #room(): boolean {
    return ((this.#written - Atomics.load(this.#board.words, Word.taken)) | 0) < RESULTS;
  }

  #write(result: LineResult): void {
    const { numbers, bigs } = this.#board;
    const at = resultNumber(this.#written);
    numbers[at + Result.line] = result.line;
    switch (result.kind) {
      case 'passed':
        numbers[at + Result.outcome] = result.complete ? Outcome.complete : Outcome.incomplete;
        numbers[at + Result.mark] = result.mark;
        bigs[at + Result.started] = result.startedNs;
        bigs[at + Result.ended] = result.endedNs;
        bigs[at + Result.noticed] = result.noticedNs;
        bigs[at + Result.sent] = result.detail?.sentNs ?? 0n;
        if (result.detail) this.#writeDetail(at, result.detail);
        break;
      case 'trapped':
        numbers[at + Result.outcome] = Outcome.trapped;
        numbers[at + Result.mark] = result.mark;
        numbers[at + Result.program] = result.program;
        numbers[at + Result.site] = result.site;
        numbers[at + Result.index] = result.index;
        numbers[at + Result.length] = result.length;
        break;
      case 'noted':
        numbers[at + Result.outcome] = Outcome.noted;
        numbers[at + Result.mark] = result.mark;
        break;
      case 'closed':
        numbers[at + Result.outcome] = Outcome.closed;
        break;
    }
    this.#written = (this.#written + 1) | 0;
  }

  #writeDetail(at: number, { launches, blockingWaits, blockedNs }: ReportDetail): void {
    const { numbers, bigs } = this.#board;
    bigs[at + Result.launchStarted] = launches?.startedNs ?? 0n;
    bigs[at + Result.launchEnded] = launches?.endedNs ?? 0n;
    numbers[at + Result.waits] = blockingWaits;
    numbers[at + Result.blocked] = blockedNs;
  }
}

/** The main thread's side. */
export class ResultReader {
  readonly #board: Board;
  #taken = 0;

  constructor(board: Board) {
    this.#board = board;
  }

  /** Passes every result on the board to `use`, in the worker's order. */
  take(use: (result: LineResult) => void): void {
    const { words } = this.#board;
    const written = Atomics.load(words, Word.results);
    while (this.#taken !== written) {
      const result = this.#read(resultNumber(this.#taken));
      this.#taken = (this.#taken + 1) | 0;
      Atomics.store(words, Word.taken, this.#taken);
      use(result);
    }
  }

  #read(at: number): LineResult {
    const { numbers, bigs } = this.#board;
    const field = (name: keyof typeof Result): number => numbers[at + Result[name]] ?? 0;
    const line = field('line');
    const mark = field('mark');
    switch (field('outcome')) {
      case Outcome.closed:
        return { kind: 'closed', line };
      case Outcome.noted:
        return { kind: 'noted', line, mark };
      case Outcome.trapped:
        return {
          kind: 'trapped',
          line,
          mark,
          program: field('program'),
          site: field('site'),
          index: field('index'),
          length: field('length'),
        };
      default:
        return {
          kind: 'passed',
          line,
          mark,
          startedNs: bigs[at + Result.started] ?? 0n,
          endedNs: bigs[at + Result.ended] ?? 0n,
          noticedNs: bigs[at + Result.noticed] ?? 0n,
          complete: field('outcome') === Outcome.complete,
          detail: this.#readDetail(at),
        };
    }
  }

  #readDetail(at: number): ReportDetail | undefined {
    const { numbers, bigs } = this.#board;
    const sentNs = bigs[at + Result.sent] ?? 0n;
    if (sentNs === 0n) return undefined;
    const startedNs = bigs[at + Result.launchStarted] ?? 0n;
    return {
      sentNs,
      launches: startedNs === 0n ? undefined : { startedNs, endedNs: bigs[at + Result.launchEnded] ?? 0n },
      blockingWaits: numbers[at + Result.waits] ?? 0,
      blockedNs: numbers[at + Result.blocked] ?? 0,
    };
  }
}
