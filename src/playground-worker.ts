import { listDevices, openDevice } from './browser.js';
import { answerRequests } from './web/playground/worker/worker.js';

/** The entry of the playground's worker, which has what a page has. `scripts/bundle-playground.mjs` bundles it. */
answerRequests({ list: () => listDevices(), open: (id) => openDevice(id) });
