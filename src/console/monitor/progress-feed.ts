import type { Engine } from '../../engine/index.js';
import type { ExitCode } from '../command/exit.js';
import { LiveTask } from '../live/live-task.js';
import type { Output } from '../output/output.js';
import { enginePauseControls, progressFields } from './monitor.js';
import { type MonitoredJob, type Status, StatusMeter } from './status.js';

const PUBLISH_MS = 1000;

/**
 * Publishes the progress of a job for dashboards, and lets them pause and stop it: for a command that has neither a status
 * screen nor limits.
 */
export function startProgressFeed(
  { hub }: Output,
  engine: Engine,
  job: MonitoredJob,
  controls: { stop(exit: ExitCode): void; readonly signal: AbortSignal },
): { end(): void } {
  const meter = new StatusMeter(job);
  let isPaused = false;
  const task = new LiveTask(hub, job, controls, (pause) => {
    isPaused = pause;
    if (pause) enginePauseControls(engine).pause();
    else enginePauseControls(engine).resume();
  });
  const state = (): Status['state'] => (controls.signal.aborted ? 'stopping' : isPaused ? 'paused' : 'running');
  const publish = (): void => {
    if (!hub.isWatched) return;
    hub.publish('progress', progressFields(meter.measure(state())));
    task.publishDetails();
  };
  task.start();
  const timer = setInterval(publish, PUBLISH_MS).unref();
  return {
    end: () => {
      clearInterval(timer);
      publish();
      task.end();
    },
  };
}
