import type { ReportDetail } from '../../device.js';
import { type Board, notifyMain, Outcome, RESULT_CAPACITY, ResultField, resultIndex, Word } from './board.js';

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
  #notified = 0;

  constructor(board: Board) {
    this.#board = board;
  }

  get isFull(): boolean {
    return this.#waiting.length > 0;
  }

  put(result: LineResult): void {
    if (this.isFull || !this.#hasSpace()) this.#waiting.push(result);
    else this.#write(result);
  }

  /** Called once a turn: writes results that waited, and notifies the main thread. */
  flush(): void {
    if (this.isFull) {
      let at = 0;
      for (let next = this.#waiting[at]; next && this.#hasSpace(); next = this.#waiting[++at]) this.#write(next);
      this.#waiting = this.#waiting.slice(at);
    }
    if (this.#notified === this.#written) return;
    this.#notified = this.#written;
    Atomics.store(this.#board.words, Word.results, this.#written);
    notifyMain(this.#board.words);
  }

  #hasSpace(): boolean {
    return ((this.#written - Atomics.load(this.#board.words, Word.taken)) | 0) < RESULT_CAPACITY;
  }

  #write(result: LineResult): void {
    const { doubles, bigints } = this.#board;
    const at = resultIndex(this.#written);
    doubles[at + ResultField.line] = result.line;
    switch (result.kind) {
      case 'passed':
        doubles[at + ResultField.outcome] = result.complete ? Outcome.complete : Outcome.incomplete;
        doubles[at + ResultField.mark] = result.mark;
        bigints[at + ResultField.started] = result.startedNs;
        bigints[at + ResultField.ended] = result.endedNs;
        bigints[at + ResultField.noticed] = result.noticedNs;
        bigints[at + ResultField.sent] = result.detail?.sentNs ?? 0n;
        if (result.detail) this.#writeDetail(at, result.detail);
        break;
      case 'trapped':
        doubles[at + ResultField.outcome] = Outcome.trapped;
        doubles[at + ResultField.mark] = result.mark;
        doubles[at + ResultField.program] = result.program;
        doubles[at + ResultField.site] = result.site;
        doubles[at + ResultField.index] = result.index;
        doubles[at + ResultField.length] = result.length;
        break;
      case 'noted':
        doubles[at + ResultField.outcome] = Outcome.noted;
        doubles[at + ResultField.mark] = result.mark;
        break;
      case 'closed':
        doubles[at + ResultField.outcome] = Outcome.closed;
        break;
    }
    this.#written = (this.#written + 1) | 0;
  }

  #writeDetail(at: number, { launches, blockingWaits, blockedNs }: ReportDetail): void {
    const { doubles, bigints } = this.#board;
    bigints[at + ResultField.launchStarted] = launches?.startedNs ?? 0n;
    bigints[at + ResultField.launchEnded] = launches?.endedNs ?? 0n;
    doubles[at + ResultField.waits] = blockingWaits;
    doubles[at + ResultField.blocked] = blockedNs;
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
  readAll(use: (result: LineResult) => void): void {
    const { words } = this.#board;
    const written = Atomics.load(words, Word.results);
    while (this.#taken !== written) {
      const result = this.#read(resultIndex(this.#taken));
      this.#taken = (this.#taken + 1) | 0;
      Atomics.store(words, Word.taken, this.#taken);
      use(result);
    }
  }

  #read(at: number): LineResult {
    const { doubles, bigints } = this.#board;
    const field = (name: keyof typeof ResultField): number => doubles[at + ResultField[name]] ?? 0;
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
          startedNs: bigints[at + ResultField.started] ?? 0n,
          endedNs: bigints[at + ResultField.ended] ?? 0n,
          noticedNs: bigints[at + ResultField.noticed] ?? 0n,
          complete: field('outcome') === Outcome.complete,
          detail: this.#readDetail(at),
        };
    }
  }

  #readDetail(at: number): ReportDetail | undefined {
    const { doubles, bigints } = this.#board;
    const sentNs = bigints[at + ResultField.sent] ?? 0n;
    if (sentNs === 0n) return undefined;
    const startedNs = bigints[at + ResultField.launchStarted] ?? 0n;
    return {
      sentNs,
      launches: startedNs === 0n ? undefined : { startedNs, endedNs: bigints[at + ResultField.launchEnded] ?? 0n },
      blockingWaits: doubles[at + ResultField.waits] ?? 0,
      blockedNs: doubles[at + ResultField.blocked] ?? 0,
    };
  }
}
