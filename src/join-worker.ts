import { listDevices, openDevice } from './browser.js';
import type { JoinRequest, JoinState } from './web/join/messages.js';
import { JoinSession } from './web/join/worker/session.js';
import { pageWorkloads } from './web/join/worker/workloads.js';

/** The entry of the thread of the page that works for a fleet. `scripts/bundle-join.mjs` bundles it. */
const scope = globalThis as unknown as {
  onmessage: (event: { readonly data: JoinRequest }) => void;
  postMessage(state: JoinState): void;
};

const session = new JoinSession({
  devices: { list: () => listDevices(), open: (id) => openDevice(id) },
  workloads: pageWorkloads,
  post: (state) => scope.postMessage(state),
});
scope.onmessage = ({ data }) => session.handle(data);
