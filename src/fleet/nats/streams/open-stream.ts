import type { JetStreamManager, StreamConfig, StreamInfo } from '@nats-io/jetstream';

/**
 * Creates a stream, or returns the one that there is. `replicas` are its copies on the servers of a cluster; without, one
 * that exists keeps what it has.
 */
export async function openStream(
  manager: JetStreamManager,
  config: Partial<StreamConfig> & { readonly name: string },
  replicas: number | undefined,
): Promise<StreamInfo> {
  try {
    return await manager.streams.add({ ...config, num_replicas: replicas ?? 1 });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== OTHER_CONFIGURATION) throw error;
    const { num_replicas } = (await manager.streams.info(config.name)).config;
    return manager.streams.update(config.name, { ...config, num_replicas: replicas ?? num_replicas });
  }
}

/** JetStream's error of a stream that exists with other settings. */
const OTHER_CONFIGURATION = 10058;
