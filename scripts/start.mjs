// `npm start`: the tour of what works on this machine.

process.argv.splice(2, 0, 'tour');
await import('./launch.mjs');
