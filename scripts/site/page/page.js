// The menu on narrow screens, and the search. A classic script: it also works where pages are opened as files.
(() => {
  /** @typedef {[path: string, title: string, id: string, heading: string, text: string]} Entry */
  const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  const base = script.dataset.base ?? '';

  const menu = byId('menu');
  menu.addEventListener('click', () => {
    const isOpen = byId('pages').classList.toggle('open');
    menu.setAttribute('aria-expanded', String(isOpen));
  });

  const query = /** @type {HTMLInputElement} */ (byId('query'));
  const results = byId('results');
  const status = byId('found');
  /** @type {Entry[] | undefined} */
  let index;
  function loadIndex() {
    if (document.getElementById('index')) return;
    const element = document.createElement('script');
    element.id = 'index';
    element.src = `${base}search-index.js`;
    element.addEventListener('load', () => {
      index = /** @type {any} */ (window).searchIndex;
      search();
    });
    document.head.append(element);
  }

  /** Whole words count more than parts of words. @param {string} text @param {string} word */
  const occurrence = (text, word) => {
    const lower = text.toLowerCase();
    if (lower.split(/[^\p{L}\p{N}_]+/u).includes(word)) return 3;
    return lower.includes(word) ? 1 : 0;
  };

  /** How well an entry answers; 0 if a word is missing. @param {Entry} entry @param {string[]} words */
  function score([, title, , heading, text], words) {
    let sum = 0;
    for (const word of words) {
      const own = 10 * occurrence(heading, word) + 5 * occurrence(title, word) + occurrence(text, word);
      if (own === 0) return 0;
      sum += own;
    }
    return sum;
  }

  /** The text around the first word. @param {string} text @param {string[]} words */
  function excerpt(text, words) {
    const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
    const start = Math.max(0, Math.min(...places, text.length) - 40);
    return `${start > 0 ? '… ' : ''}${text.slice(start, start + 140)}${start + 140 < text.length ? ' …' : ''}`;
  }

  function search() {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    results.hidden = words.length === 0 || !index;
    status.textContent = '';
    if (!index || words.length === 0) return results.replaceChildren();
    const found = index
      .map((entry) => ({ entry, value: score(entry, words) }))
      .filter(({ value }) => value > 0)
      .sort((a, b) => b.value - a.value);
    status.textContent = `${found.length} found`;
    results.replaceChildren(
      ...found.slice(0, 20).map(({ entry: [path, title, id, heading, text] }) => {
        const link = document.createElement('a');
        link.href = base + path + (id ? `#${id}` : '');
        link.textContent = heading && heading !== title ? `${title}: ${heading}` : title;
        const span = document.createElement('span');
        span.textContent = excerpt(text, words);
        link.append(span);
        const item = document.createElement('li');
        item.append(link);
        return item;
      }),
    );
    if (found.length === 0) {
      const none = document.createElement('li');
      none.textContent = 'nothing found';
      results.append(none);
    }
  }

  query.addEventListener('focus', loadIndex);
  query.addEventListener('input', search);
  document.addEventListener('keydown', (event) => {
    const links = [...results.querySelectorAll('a')];
    const at = links.indexOf(/** @type {HTMLAnchorElement} */ (document.activeElement));
    const isTyping = document.activeElement === query || at >= 0;
    if (event.key === '/' && !isTyping) {
      event.preventDefault();
      query.focus();
    } else if (event.key === 'Escape' && isTyping) {
      query.value = '';
      search();
      query.focus();
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && isTyping && links.length > 0) {
      event.preventDefault();
      const next = at + (event.key === 'ArrowDown' ? 1 : -1);
      (next < 0 ? query : links[Math.min(next, links.length - 1)])?.focus();
    } else if (event.key === 'Enter' && document.activeElement === query) {
      links[0]?.click();
    }
  });
  document.addEventListener('click', ({ target }) => {
    if (!(target instanceof Node && byId('search').contains(target))) results.hidden = true;
  });
})();
