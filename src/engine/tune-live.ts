import type { Completion, Device, Stream } from '../device/device.js';
import type { Flow, FlowOptions, FlowSlot, OpenFlow, Overflow } from './flow.js';
import type { Piece } from './space.js';
import type { Setting, Tunable } from './tune.js';
import { type LiveListener, LiveTuning, type Variants } from './tune-bursts.js';
import { tuningFor } from './tune-known.js';

export type { LiveListener } from './tune-bursts.js';

/**
 * A flow as it is known to suit each device. Where nothing is known and somebody has asked for it (`tuneWhileWorking`), the
 * job itself is what candidates are measured on: once the device has worked for 10 s, some chunks in a row run another
 * way, again and again, at most 5 % of them. Their results count like all others: every candidate has first given the
 * right answers for known work (`audit`), and the job checks its hits as ever.
 */
export function tunedFlow<S extends Setting, Result>(
  tunable: Tunable<S>,
  make: (setting: S) => Flow<Result>,
): Flow<Result> {
  return {
    name: make({} as S).name,
    async open(device, options = {}) {
      const known = await tuningFor(device, tunable);
      if (known || !listener || options.persistent) return make(known?.setting ?? ({} as S)).open(device, options);
      const flow = new LiveFlow(liveOn(device, tunable as unknown as Tunable), make, options);
      return flow.open(device);
    },
  };
}

let listener: LiveListener | undefined;

/** From now on jobs on devices of which nothing is known find out what suits them; undefined: no longer. */
export function tuneWhileWorking(told: LiveListener | undefined): void {
  listener = told;
}

const tunings = new WeakMap<Device, Map<string, LiveTuning>>();

function liveOn(device: Device, tunable: Tunable): LiveTuning {
  const own = tunings.get(device) ?? new Map<string, LiveTuning>();
  tunings.set(device, own);
  const live = own.get(tunable.name) ?? new LiveTuning(device, tunable, () => listener);
  own.set(tunable.name, live);
  return live;
}

class LiveFlow<S extends Setting, Result> implements Variants {
  readonly #live: LiveTuning;
  readonly #make: (setting: S) => Flow<Result>;
  readonly #options: FlowOptions;
  readonly #opened = new Map<Setting, OpenFlow<Result>>();
  readonly #slots = new Set<LiveSlot<Result>>();
  #device: Device | undefined;
  #isClosed = false;

  constructor(live: LiveTuning, make: (setting: S) => Flow<Result>, options: FlowOptions) {
    this.#live = live;
    this.#make = make;
    this.#options = options;
  }

  async open(device: Device): Promise<OpenFlow<Result>> {
    this.#device = device;
    const { best } = this.#live;
    const plain = await this.#make(best as S).open(device, this.#options);
    this.#opened.set(best, plain);
    this.#live.attach(this);
    return {
      device,
      shape: plain.shape,
      lanes: plain.lanes,
      occupancy: plain.occupancy,
      slot: async (stream) => {
        const slot = new LiveSlot(this.#live, stream, await plain.slot(stream), () => this.#slots.delete(slot));
        this.#slots.add(slot);
        for (const [setting, flow] of this.#opened) {
          if (flow !== plain) void slot.add(setting, flow).catch(() => undefined);
        }
        return slot;
      },
      close: () => {
        this.#isClosed = true;
        this.#live.detach(this);
        for (const flow of this.#opened.values()) flow.close();
      },
    };
  }

  async add(setting: Setting): Promise<void> {
    if (!this.#device || this.#opened.has(setting)) return;
    const flow = await this.#make(setting as S).open(this.#device, this.#options);
    if (this.#isClosed) {
      flow.close();
      return;
    }
    this.#opened.set(setting, flow);
    for (const slot of this.#slots) await slot.add(setting, flow);
  }
}

class LiveSlot<Result> implements FlowSlot<Result> {
  readonly #live: LiveTuning;
  readonly #stream: Stream;
  readonly #plain: FlowSlot<Result>;
  readonly #others = new Map<Setting, FlowSlot<Result>>();
  readonly #onClose: () => void;
  #used: FlowSlot<Result>;
  #isClosed = false;

  constructor(live: LiveTuning, stream: Stream, plain: FlowSlot<Result>, onClose: () => void) {
    this.#live = live;
    this.#stream = stream;
    this.#plain = plain;
    this.#used = plain;
    this.#onClose = onClose;
  }

  async add(setting: Setting, flow: OpenFlow<Result>): Promise<void> {
    if (this.#isClosed) return;
    const slot = await flow.slot(this.#stream);
    if (this.#isClosed) slot.close();
    else this.#others.set(setting, slot);
  }

  submit(piece: Piece, values?: number): Completion {
    const { current, best } = this.#live;
    const other = this.#others.get(current);
    this.#used = other ?? this.#plain;
    const completion = this.#used.submit(piece, values);
    // A job that came later has not got what is being tried: its chunks are nobody's.
    this.#live.submitted(other || current === best ? current : {}, piece.count, completion);
    return completion;
  }

  get moved(): FlowSlot<Result>['moved'] {
    return this.#used.moved;
  }

  reap(piece: Piece): Result | Overflow {
    return this.#used.reap(piece);
  }

  close(): void {
    this.#isClosed = true;
    this.#onClose();
    this.#plain.close();
    for (const slot of this.#others.values()) slot.close();
  }
}
