/** Warns about batches that are not released, so that every slot is taken and the job stands still. */
export class ReleaseWatch {
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `isStuck` is asked every second. After five times yes in a row `warn` is called, once. */
  start(isStuck: () => boolean, warn: () => void): void {
    let seconds = 0;
    this.#timer = setInterval(() => {
      seconds = isStuck() ? seconds + 1 : 0;
      if (seconds < WARN_AFTER_S) return;
      this.stop();
      warn();
    }, 1000);
    (this.#timer as { unref?: () => void }).unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

export const WARN_AFTER_S = 5;
