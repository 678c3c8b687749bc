import { listDevices, openDevice } from './browser.js';
import { addPageWorkers, type PageWorker } from './device/pool/threads/threads.js';
import type { JoinRequest, JoinState } from './web/join/messages.js';
import { JoinSession } from './web/join/worker/session.js';
import { pageWorkloads } from './web/join/worker/workloads.js';

/** The entry of the thread of the page that works for a fleet. `scripts/bundle-join.mjs` bundles it. */
const scope = globalThis as unknown as {
  onmessage: (event: { readonly data: JoinRequest }) => void;
  postMessage(state: JoinState): void;
};

declare const Worker: new (file: URL, options: { readonly type: 'module'; readonly name: string }) => PageWorker;

addPageWorkers({
  'verifier-thread.js': () =>
    new Worker(new URL('./join-gaps-worker.js', import.meta.url), { type: 'module', name: 'millrace gaps' }),
});

const session = new JoinSession({
  devices: { list: () => listDevices(), open: (id) => openDevice(id) },
  workloads: pageWorkloads,
  post: (state) => scope.postMessage(state),
});
scope.onmessage = ({ data }) => session.handle(data);
