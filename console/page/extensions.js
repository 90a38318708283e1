// Extensions of a host or of all, with the evidence against them.

import { askExtension } from './actions.js';
import { get } from './api.js';
import { el, table } from './dom.js';
import { bytes, took } from './format.js';
import { model } from './model.js';

export function extensionsView(main, name) {
  const body = el('div');
  main.append(!name && el('h1', { text: 'Extensions' }), body);
  let ended = false;
  let known = null;
  const load = async () => {
    try {
      const { extensions } = await get('/v1/extensions');
      const mine = extensions.filter((x) => !name || x.host === name || x.place === name);
      if (!ended) body.replaceChildren(mine.length ? list(mine, load) : el('p', { class: 'empty', text: name ? `${name} has no extensions.` : 'No host has extensions.' }));
    } catch (e) {
      if (!ended) body.replaceChildren(el('p', { class: 'empty bad', text: e.message }));
    }
  };
  const unwatch = model.watch(() => {
    const last = model.events.findLast((e) => ['extension', 'blame', 'state'].includes(e.kind))?.seq ?? 0;
    if (last === known) return;
    known = last;
    load();
  });
  return () => {
    ended = true;
    unwatch();
  };
}

function list(all, again) {
  const may = model.may('operate');
  return table('Extensions', ['Extension', 'Version', 'State', ...(may ? [''] : []), 'Blame', 'Host', 'Activated in', 'Calls', 'Memory'], all.map((x) => [
    el('b', { text: x.id }), x.version,
    el('span', { title: x.why ?? '' }, el('span', { class: 'word', 'data-ext': x.state, text: x.state }), x.why ? el('span', { class: 'dim', text: ` ${x.why}` }) : ''),
    ...(may ? [el('div', { class: 'buttons small' },
      verb(x, x.state === 'disabled' ? 'enable' : 'disable', again),
      verb(x, x.blame.quarantined || (x.place && x.place !== x.host) ? 'release' : 'isolate', again))] : []),
    blame(x.blame),
    x.place && x.place !== x.host ? `${x.place} (of ${x.host})` : x.host,
    took(x.activation_seconds), el('span', { class: 'nowrap', text: x.calls ? `${x.calls}, ${took(x.average_response_seconds)}` : '0' }), el('span', { class: 'nowrap', text: bytes(x.rss_bytes) }),
  ]));
}

const verb = (x, what, again) => el('button', { type: 'button', text: what, 'aria-label': `${what} ${x.id}`, on: { click: () => askExtension(x, what, again) } });

function blame(b) {
  if (!b.suspect_in && !b.decision && !b.quarantined) return el('span', { class: 'dim', text: '–' });
  return el('span', { class: 'wide' },
    b.quarantined ? el('span', { class: 'word', 'data-ext': 'failed', text: 'isolated ' }) : '',
    b.suspect_in ? `suspect in ${b.suspect_in} ${b.suspect_in === 1 ? 'crash' : 'crashes'} ` : '',
    el('span', { class: 'dim', text: b.decision ?? '' }));
}
