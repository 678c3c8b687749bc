import type { Device, Stream } from './device.js';

/** Opens `count` streams. If one cannot be opened, those before it are closed. */
export function openStreams(device: Device, count: number): Stream[] {
  const streams: Stream[] = [];
  try {
    while (streams.length < count) streams.push(device.stream());
    return streams;
  } catch (error) {
    for (const stream of streams) stream.close();
    throw error;
  }
}
