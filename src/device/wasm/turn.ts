/** Runs an action in the event loop's next turn: in Node by setImmediate; in a page, where timers wait 4 ms, by a message. */
export function nextTurn(action: () => void): void {
  if (typeof setImmediate === 'function') {
    setImmediate(action);
    return;
  }
  const { port1, port2 } = new MessageChannel();
  Object.assign(port1, {
    onmessage: () => {
      port1.close();
      action();
    },
  });
  port2.postMessage(0);
}
