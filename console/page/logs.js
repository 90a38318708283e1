// Output of one host or of all: follows, filters, and keeps a bounded number of lines.

import { seg, stream } from './api.js';
import { el, setText } from './dom.js';
import { clock, plain } from './format.js';
import { model } from './model.js';

const PAST = 500; // lines asked for at first
const KEPT = 4000; // lines in the document
const FRAME = 400; // lines added in one frame

// hue gives each host a colour of its own.
function hue(name) {
  let n = 7;
  for (const c of name) n = (n * 31 + c.codePointAt(0)) >>> 0;
  return n % 12;
}

// matcher makes a test of a line from a filter: words, or /a regular expression/.
function matcher(text) {
  const re = /^\/(.+)\/$/.exec(text);
  if (re) {
    try {
      const made = new RegExp(re[1], 'i');
      return (line) => made.test(line);
    } catch {
      return null;
    }
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (line) => {
    const low = line.toLowerCase();
    return words.every((w) => low.includes(w));
  };
}

export function logsView(main, name) {
  let queue = []; // lines that are not in the document yet
  let skipped = 0;
  let follow = true;
  let fits = () => true;
  let streams = '';
  let frame = 0;
  const stop = new AbortController();
  const path = name ? `/v1/hosts/${seg(name)}/logs` : '/v1/logs';

  const filter = el('input', { type: 'search', placeholder: 'Filter: words or /regexp/', 'aria-label': 'Filter lines', spellcheck: 'false', on: { input: sift } });
  const which = el('select', { 'aria-label': 'Which output', on: { change: sift } },
    [['', 'all output'], ['stdout', 'stdout'], ['stderr', 'stderr'], ['note', 'notes']].map(([value, text]) => el('option', { value, text })));
  const status = el('span', { class: 'dim', role: 'status' });
  const down = el('button', { type: 'button', class: 'down', text: 'Follow ↓', hidden: true, on: { click: () => setFollow(true) } });
  const lines = el('div', { class: name ? 'lines' : 'lines all' });
  const box = el('div', { class: 'log', tabindex: 0, role: 'log', 'aria-live': 'off', 'aria-label': name ? `Output of ${name}` : 'Output of all hosts', on: { scroll: scrolled } }, lines);
  main.append(el('div', { class: 'tools' }, !name && el('h1', { text: 'Logs' }), filter, which, status), el('div', { class: 'log-box' }, box, down));
  document.body.classList.add('filled');

  function setFollow(on) {
    follow = on;
    down.hidden = on;
    if (on) box.scrollTop = box.scrollHeight;
  }

  function scrolled() {
    const end = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
    if (end !== follow) setFollow(end);
  }

  function keeps(row) {
    return (!streams || row.dataset.stream === streams) && fits(row.textContent);
  }

  function sift() {
    const made = matcher(filter.value.trim());
    filter.setAttribute('aria-invalid', made === null);
    if (!made) return;
    fits = made;
    streams = which.value;
    for (const row of lines.children) row.hidden = !keeps(row);
    if (follow) box.scrollTop = box.scrollHeight;
    count();
  }

  function count() {
    const n = lines.childElementCount;
    const filtered = filter.value.trim() || streams ? `${lines.querySelectorAll(':scope > :not([hidden])').length} of ` : '';
    setText(status, `${filtered}${n} lines${skipped ? `, ${skipped} skipped` : ''}`);
  }

  function row(line) {
    const node = el('div', { 'data-stream': line.stream },
      el('time', { text: clock(line.time, true) }),
      !name && el('a', { class: `who-${hue(line.host)}`, href: `#/host/${encodeURIComponent(line.host)}/logs`, text: line.host }),
      el('span', { text: (line.lost ? `… ${line.lost} lines lost\n` : '') + plain(line.text) }));
    node.hidden = !keeps(node);
    return node;
  }

  // add puts lines into the document, some in each frame.
  function add() {
    frame = 0;
    if (queue.length > KEPT) {
      skipped += queue.length - KEPT;
      queue = queue.slice(-KEPT);
    }
    lines.append(...queue.splice(0, FRAME).map(row));
    const over = lines.childElementCount - KEPT;
    if (over > 0 && follow) {
      const range = document.createRange();
      range.setStartBefore(lines.firstChild);
      range.setEndAfter(lines.children[over - 1]);
      range.deleteContents();
    } else if (over > KEPT) {
      setFollow(true); // nobody reads that far back
    }
    if (follow) box.scrollTop = box.scrollHeight;
    count();
    if (queue.length) frame = requestAnimationFrame(add);
  }

  (async () => {
    for (let n = PAST; !stop.signal.aborted;) {
      try {
        for await (const { data } of stream(`${path}?n=${n}&follow=true`, { signal: stop.signal })) {
          queue.push(data);
          if (!frame) frame = requestAnimationFrame(add);
        }
      } catch (e) {
        if (stop.signal.aborted) return;
        if (e.cls !== 'disconnected') setText(status, e.message);
        if (['no_such_host', 'unauthorized', 'forbidden', 'unknown'].includes(e.cls)) return;
      }
      await new Promise((done) => setTimeout(done, 1500));
      n = model.live ? 0 : PAST; // a supervisor that was started again has other lines
    }
  })();

  return () => {
    stop.abort();
    cancelAnimationFrame(frame);
    document.body.classList.remove('filled');
  };
}
