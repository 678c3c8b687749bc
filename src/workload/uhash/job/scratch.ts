import type { Device, DeviceBuffer } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import { CHAINS } from '../kernel/kernel.js';
import { PAD_BYTES } from '../kernel/pads.js';
import { inThrees, type Plan, type PlanOptions, perPadOf, planFor } from '../kernel/plan.js';

/**
 * The memory of batches: gigabytes, so it is allocated once and kept between searches. The batch size follows from the
 * memory that a device really has: it is reduced until the wanted number of batches can be allocated.
 */
export class Scratch {
  readonly #rooms = new Map<Device, Promise<Room>>();

  /** The device's memory for `slots` batches. Memory that was allocated for other options is freed. */
  room(device: Device, asked: PlanOptions, slots: number): Promise<Room> {
    const key = JSON.stringify([asked, slots]);
    const next = async (known?: Promise<Room>): Promise<Room> => {
      const room = await known?.catch(() => undefined);
      if (room?.key === key) return room;
      room?.close();
      return openRoom(device, asked, slots, key);
    };
    const room = next(this.#rooms.get(device));
    this.#rooms.set(device, room);
    return room;
  }

  /** Frees all memory; buffers in use are freed when their batch ends. */
  async close(): Promise<void> {
    const rooms = [...this.#rooms.values()];
    this.#rooms.clear();
    for (const room of rooms) (await room.catch(() => undefined))?.close();
  }
}

/** Buffers of one batch on a device. Their contents are undefined before and after. */
export interface Place {
  readonly state: DeviceBuffer;
  /** By buffer name in the kernels: `pad0` … */
  readonly pads: Readonly<Record<string, DeviceBuffer>>;
}

export class Room {
  readonly device: Device;
  readonly plan: Plan;
  readonly key: string;
  readonly #free: Place[];
  readonly #waiting: ((place: Place) => void)[] = [];
  #closed = false;

  constructor(device: Device, plan: Plan, key: string, places: readonly Place[]) {
    this.device = device;
    this.plan = plan;
    this.key = key;
    this.#free = [...places];
  }

  /**
   * Takes a free place. With `isNeeded` it waits for one: the previous search may be cancelled but not have ended yet. A
   * search needs one place; for further ones this throws as if memory were short, and the engine works with fewer.
   */
  async take(isNeeded: boolean): Promise<Place> {
    const place = this.#free.pop();
    if (place !== undefined) return place;
    if (!isNeeded || this.#closed) throw noMore(this.device, this.plan);
    return new Promise((resolve) => void this.#waiting.push(resolve));
  }

  give(place: Place): void {
    const next = this.#waiting.shift();
    if (next) next(place);
    else if (this.#closed) freePlace(place);
    else this.#free.push(place);
  }

  close(): void {
    this.#closed = true;
    for (const place of this.#free.splice(0)) freePlace(place);
  }
}

/** The factor by which a batch shrinks if memory is short. */
const SMALLER = 0.8;

async function openRoom(device: Device, asked: PlanOptions, slots: number, key: string): Promise<Room> {
  let plan = planFor(device.info, asked);
  for (;;) {
    const places: Place[] = [];
    try {
      for (let at = 0; at < Math.min(slots, plan.slots); at++) places.push(await allocate(device, plan));
      return new Room(device, plan, key, places);
    } catch (error) {
      for (const place of places) freePlace(place);
      if (!(error instanceof MillraceError) || error.code !== 'device-memory') throw error;
      if (plan.batch <= 3) throw tooSmall(device, error);
      plan = planFor(device.info, { ...asked, batch: inThrees(Math.floor(plan.batch * SMALLER)) - 3 });
    }
  }
}

async function allocate(device: Device, plan: Plan): Promise<Place> {
  const held: DeviceBuffer[] = [];
  const alloc = async (bytes: number): Promise<DeviceBuffer> => {
    const buffer = await device.alloc(bytes);
    held.push(buffer);
    return buffer;
  };
  try {
    const pads: Record<string, DeviceBuffer> = {};
    for (let at = 0; at < plan.pads; at++) pads[`pad${at}`] = await alloc(perPadOf(plan) * PAD_BYTES);
    return { pads, state: await alloc(inThrees(plan.batch) * CHAINS * 32) };
  } catch (error) {
    for (const buffer of held) buffer.free();
    throw error;
  }
}

function freePlace({ state, pads }: Place): void {
  for (const buffer of [state, ...Object.values(pads)]) buffer.free();
}

function noMore({ info: { id } }: Device, { slots }: Plan): MillraceError {
  return new MillraceError({
    code: 'device-memory',
    message: `${id} has no memory for another batch`,
    asked: `more than ${slots} at a time on ${id}`,
    advice: 'wait for the search that uses it, or give each search scratch memory of its own',
  });
}

function tooSmall({ info: { id } }: Device, cause: MillraceError): MillraceError {
  return new MillraceError({
    code: 'device-memory',
    message: `${id} has no memory for three hashes at a time`,
    asked: `scratchpads of 2 MiB a nonce on ${id}`,
    advice: 'free some of its memory, ask for fewer streams and slots, or use another device',
    cause,
  });
}
