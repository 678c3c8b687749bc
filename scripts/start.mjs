// `npm start`: shows what works on this machine (`millrace tour`).

process.argv.splice(2, 0, 'tour');
await import('./launch.mjs');
