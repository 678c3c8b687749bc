import { computed, signal } from '@preact/signals';
import { addContribution, type JoinRequest, type JoinState, NOTHING } from '../messages.js';
import { forget, type Kept, keep, takeKept } from './kept.js';

/** What the thread has said last. */
export const state = signal<JoinState | undefined>(undefined);
/** Undefined: there is no invite. */
export const kept = signal<Kept | undefined>(takeKept());
const isHidden = signal(document.hidden);

/** Since the link was opened in this tab. */
export const done = computed(() => addContribution(before.done, state.value?.done ?? NOTHING));
/** True if the work waits for the page to be seen. */
export const isPausedHidden = computed(
  () => kept.value?.isWanted === true && kept.value.pausesHidden && isHidden.value,
);

const before = kept.peek() ?? { done: NOTHING };
const thread = kept.peek() && startThread();

function startThread(): Worker {
  const worker = new Worker(new URL('/join-worker.js', location.href), { type: 'module', name: 'millrace fleet' });
  worker.onmessage = ({ data }: MessageEvent<JoinState>) => {
    const wasOpen = state.peek()?.connection === 'open';
    state.value = data;
    if (data.connection === 'ended') forget();
    else save({});
    // The page was reloaded, or the invite has just been read.
    if (!wasOpen && data.connection === 'open') follow();
  };
  worker.onerror = ({ message }) => {
    const reason = `the page's thread cannot be started: ${message || 'its file cannot be loaded'}`;
    const figures = { done: NOTHING, perSecond: 0, notes: [], devices: [], workloads: [] };
    state.value = { connection: 'ended', phase: 'idle', reason, ...figures };
  };
  return worker;
}

const ask = (request: JoinRequest): void => thread?.postMessage(request);

/** Changes what the user wants, and what is kept. */
export function want(changes: Partial<Omit<Kept, 'invite' | 'name' | 'done'>>): void {
  save(changes);
  if (changes.share !== undefined) ask({ ask: 'limit', share: changes.share });
  follow();
}

/** Starts or stops the work, as the user wants it. */
function follow(): void {
  const wanted = kept.peek();
  const now = state.peek();
  if (wanted === undefined || now?.connection !== 'open') return;
  const isWanted = wanted.isWanted && !isPausedHidden.value;
  if (isWanted === isAsked) return;
  isAsked = isWanted;
  if (isWanted) ask({ ask: 'start', device: wanted.device ?? 'auto', share: wanted.share });
  else ask({ ask: 'stop' });
}

/** What the thread was asked for last. */
let isAsked = false;

function save(changes: Partial<Kept>): void {
  const now = kept.peek();
  if (now === undefined || state.peek()?.connection === 'ended') return;
  kept.value = { ...now, ...changes };
  keep({ ...kept.value, done: done.peek() });
}

addEventListener('visibilitychange', () => {
  isHidden.value = document.hidden;
  ask({ ask: 'look', isVisible: !document.hidden });
  follow();
});

const first = kept.peek();
if (first) ask({ ask: 'connect', invite: first.invite, name: first.name });
