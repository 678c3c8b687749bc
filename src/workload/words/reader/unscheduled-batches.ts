import type { Stream } from '../../../device/device.js';
import { fitted } from '../../../engine/feed/chunk-size.js';
import { SLOTS_PER_STREAM } from '../../../engine/feed/slots.js';
import type { FlowSlot, OpenFlow } from '../../../engine/flow/flow.js';
import { least } from '../../../engine/work/space.js';
import { MillraceError } from '../../../kernel/error.js';
import { type Asked, Course, type CourseEvents, type Place } from './batch-reader.js';

/**
 * Batches of one device in order, several chunks in flight, without a job: no other device can take a chunk, so no work
 * is tracked. A job costs the host 0.1 ms, which matters when 100 MB take 2 ms. Slots are reused by the next course.
 */
export class StraightBatches {
  readonly #opened: OpenFlow<Uint8Array>;
  readonly #streams: readonly Stream[];
  /** Rows of a chunk. */
  readonly #most: number;
  readonly #events: CourseEvents;
  /** Unused slots, by stream. */
  readonly #free: FlowSlot<Uint8Array>[][];
  readonly #courses = new Set<Course>();
  /** Courses whose slots are being made. */
  readonly #beginning = new Set<Promise<Course>>();
  #clock: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(opened: OpenFlow<Uint8Array>, streams: readonly Stream[]) {
    this.#opened = opened;
    this.#streams = streams;
    this.#most = fitted(opened.shape, opened.shape.most);
    this.#free = streams.map(() => []);
    this.#events = {
      back: (place) => this.#putBack(place),
      over: (course) => {
        this.#courses.delete(course);
        if (this.#courses.size === 0) this.#clock?.unref();
      },
      isAlone: () => this.#courses.size === 1,
    };
  }

  /** Returns the course once its first chunks are submitted: synchronously if it can reuse slots. */
  begin(asked: Asked): Course | Promise<Course> {
    const chunks = (asked.count + BigInt(this.#most - 1)) / BigInt(this.#most);
    const slots = Number(least(chunks, BigInt(this.#streams.length * SLOTS_PER_STREAM)));
    const places: Place[] = [];
    while (places.length < slots) {
      const stream = places.length % this.#streams.length;
      const slot = this.#free[stream]?.pop();
      if (slot === undefined) {
        const making = this.#make(places, slots);
        return this.#later(making.then(() => this.#start(asked, places)));
      }
      places.push({ slot, stream });
    }
    return this.#start(asked, places);
  }

  /** Ends all courses. Consumers keep their batches until they release them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#beginning);
    await Promise.all([...this.#courses].map((course) => course.end()));
    this.#stopClock();
    for (const slots of this.#free) for (const slot of slots.splice(0)) slot.close();
  }

  #later(course: Promise<Course>): Promise<Course> {
    this.#beginning.add(course);
    const begun = (): void => void this.#beginning.delete(course);
    course.then(begun, begun);
    return course;
  }

  #start(asked: Asked, places: Place[]): Course {
    const { device } = this.#opened;
    const track = { info: device.info, streams: this.#streams, places, most: this.#most };
    const course = new Course(asked, track, this.#events);
    this.#courses.add(course);
    course.fill();
    this.#keepTime();
    return course;
  }

  /** Runs one clock for all courses, until a tick finds none: a timer per course would cost 5 µs. */
  #keepTime(): void {
    let isIdle = false;
    this.#clock ??= setInterval(() => {
      for (const course of this.#courses) course.tick(TICK_MS);
      if (isIdle && this.#courses.size === 0) this.#stopClock();
      isIdle = this.#courses.size === 0;
    }, TICK_MS);
    this.#clock.ref(); // a hung device would not keep the process alive
  }

  #stopClock(): void {
    clearInterval(this.#clock);
    this.#clock = undefined;
  }

  /** Makes fewer slots if memory is short, at least one. */
  async #make(places: Place[], slots: number): Promise<void> {
    try {
      while (places.length < slots) {
        const stream = places.length % this.#streams.length;
        const queue = this.#streams[stream] as Stream;
        places.push({ slot: this.#free[stream]?.pop() ?? (await this.#opened.slot(queue)), stream });
      }
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'device-memory' && places.length > 0) return;
      for (const place of places) this.#putBack(place);
      throw error;
    }
  }

  #putBack({ slot, stream }: Place): void {
    if (this.#isClosed) slot.close();
    else this.#free[stream]?.push(slot);
  }
}

const TICK_MS = 500;
