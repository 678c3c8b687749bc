import { MarkCompletion } from '../completion.js';

/** A mark on an interpreter stream. */
export class InterpreterCompletion extends MarkCompletion {
  get passed(): boolean {
    return this.settled;
  }
}
