// What changes something. Each asks first, in a dialog, and says what became of it.

import { post, seg, stream } from './api.js';
import { el } from './dom.js';
import { model } from './model.js';

const dialog = document.getElementById('dialog');
const notes = document.getElementById('notes');

// note shows a message for a while; errors stay longer.
export function note(text, bad = false) {
  const line = el('p', { class: bad ? 'note bad' : 'note', text });
  notes.append(line);
  while (notes.children.length > 4) notes.firstChild.remove();
  setTimeout(() => line.remove(), bad ? 20_000 : 6_000);
}

const failed = (what, e) => note(`${what}: ${e.message}`, true);

// open shows the dialog with a form, and calls submit with it. The dialog stays open
// while submit returns false.
function open(title, body, label, submit, danger = false) {
  const form = el('form', { method: 'dialog' },
    el('h2', { id: 'dialog-title', text: title }), body,
    el('div', { class: 'buttons' },
      el('button', { type: 'button', text: 'Cancel', on: { click: () => dialog.close() } }),
      el('button', { class: danger ? 'danger' : 'primary', text: label, 'data-confirm': true })));
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    if (submit(form) !== false) dialog.close();
  });
  dialog.replaceChildren(form);
  dialog.showModal();
  (form.querySelector('input, textarea') ?? form.querySelector('[data-confirm]')).focus();
}

// VERBS are the operations on a host: whether they fit its state, and what they do.
const VERBS = {
  start: { label: 'Start', fits: (s) => ['stopped', 'failed', 'restarting', 'crashed'].includes(s), does: 'The host starts, after those that it depends on. A failed host gets a new crash window.' },
  restart: { label: 'Restart', fits: (s) => !['stopped', 'failed'].includes(s), does: 'The process is stopped gracefully and started again. Calls under way may finish within stop.drain; later ones wait or fail.', danger: true },
  stop: { label: 'Stop', fits: (s) => !['stopped', 'failed', 'stopping'].includes(s), does: 'The process is stopped gracefully and stays down until somebody starts it.', danger: true },
  reset: { label: 'Reset', fits: () => true, does: 'The crash window is cleared. A failed host starts again.' },
};

// verbButtons makes the buttons that the caller may use; update fits them to the host.
export function verbButtons(name) {
  const row = el('div', { class: 'buttons', role: 'group', 'aria-label': `Operations on ${name}` });
  if (!model.may('operate')) return { row, update() {} };
  const made = Object.entries(VERBS).map(([verb, v]) => {
    const b = el('button', { type: 'button', text: v.label, 'data-verb': verb, on: { click: () => askVerb(name, verb) } });
    row.append(b);
    return [b, v];
  });
  if (model.may('full')) row.append(el('button', { type: 'button', text: 'Call…', 'data-verb': 'call', on: { click: () => askCall(name) } }));
  return {
    row,
    update(host) {
      for (const [b, v] of made) b.disabled = !v.fits(host.state);
      const call = row.querySelector('[data-verb=call]');
      if (call) call.disabled = host.protocol === 'none';
    },
  };
}

function askVerb(name, verb) {
  const { label, does, danger } = VERBS[verb];
  open(`${label} ${name}?`, el('p', { text: does }), label, () => {
    note(`${name}: ${verb} requested`);
    post(`/v1/hosts/${seg(name)}/${verb}`)
      .then((h) => note(verb === 'reset' ? `${name}: the crash window is clear` : `${name} is ${h.state}`))
      .catch((e) => failed(`${verb} ${name}`, e));
  }, danger);
}

// EXTENSION has the operations on an extension.
const EXTENSION = {
  enable: 'The extension may be activated again.',
  disable: 'The extension is not activated any more, and ended if it is active.',
  isolate: 'The extension gets a host of its own, where its crashes end nobody else.',
  release: 'The extension may come back from the host that it was given.',
};

export function askExtension(x, verb, then) {
  const label = verb[0].toUpperCase() + verb.slice(1);
  open(`${label} ${x.id}?`, el('p', { text: `${EXTENSION[verb]} Host: ${x.host}.` }), label, () => {
    post(`/v1/extensions/${seg(x.id)}/${verb}?host=${seg(x.host)}`)
      .then(() => {
        note(`${x.id}: ${verb} done`);
        then();
      })
      .catch((e) => failed(`${verb} ${x.id}`, e));
  }, verb === 'disable');
}

// askCall calls a method with JSON. The answer is shown in the dialog.
function askCall(name) {
  const method = el('input', { name: 'method', required: true, spellcheck: 'false', autocomplete: 'off' });
  const params = el('textarea', { name: 'params', rows: 5, spellcheck: 'false', placeholder: 'JSON, or nothing for null' });
  const streamed = el('input', { type: 'checkbox', name: 'stream' });
  const out = el('pre', { class: 'answer', tabindex: 0, 'aria-live': 'polite', hidden: true });
  const stop = new AbortController();
  // NOTE: the event comes with the next frame of the page. The dialog may be open again by then, with the form of a later call.
  dialog.addEventListener('close', () => {
    if (!dialog.open || !out.isConnected) stop.abort();
  }, { signal: stop.signal });
  open(`Call a method of ${name}`, el('div', { class: 'fields' },
    el('label', null, 'Method', method), el('label', null, 'Params', params),
    el('label', { class: 'check' }, streamed, 'the result is a stream'), out), 'Call', (form) => {
    const body = { method: method.value };
    out.hidden = false;
    out.className = 'answer';
    if (params.value.trim()) {
      try {
        body.params = JSON.parse(params.value);
      } catch (e) {
        out.textContent = `the params are not JSON: ${e.message}`;
        out.classList.add('bad');
        return false;
      }
    }
    const button = form.querySelector('[data-confirm]');
    button.disabled = true;
    out.textContent = 'waiting…';
    call(name, body, streamed.checked, out, stop.signal)
      .catch((e) => {
        if (e.name === 'AbortError') return;
        out.textContent += `${out.textContent ? '\n' : ''}${e.cls}: ${e.message}`;
        out.classList.add('bad');
      })
      .finally(() => { button.disabled = false; });
    return false;
  });
}

const SHOWN = 200_000; // characters of an answer

async function call(name, body, streamed, out, signal) {
  const path = `/v1/hosts/${seg(name)}/call`;
  const began = performance.now();
  if (!streamed) {
    const got = await post(path, body, signal).catch((e) => {
      out.textContent = '';
      throw e;
    });
    out.textContent = `${JSON.stringify(got.result, null, 2).slice(0, SHOWN)}\n\n${(performance.now() - began).toFixed(0)} ms`;
    return;
  }
  out.textContent = '';
  let n = 0;
  for await (const ev of stream(path, { method: 'POST', body: { ...body, stream: true }, signal })) {
    n++;
    if (out.textContent.length < SHOWN) out.append(`${JSON.stringify(ev.data.item)}\n`);
  }
  out.append(`\n${n} items, ${(performance.now() - began).toFixed(0)} ms`);
}
