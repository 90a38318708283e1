// Crash reports: what ended, why, and what it said last.

import { get, seg } from './api.js';
import { el, facts, table } from './dom.js';
import { bytes, clock, exit, moment, plain, span, took } from './format.js';
import { model } from './model.js';
import { denials } from './sandbox.js';

// crashesView lists the reports of a host, or with null of all, newest first.
export function crashesView(main, name) {
  const body = el('div');
  main.append(!name && el('h1', { text: 'Crashes' }), body);
  let known = null;
  let ended = false;
  const load = async () => {
    try {
      const { crashes } = await get(`/v1/crashes?brief=true${name ? `&host=${seg(name)}` : ''}`);
      if (!ended) body.replaceChildren(crashes.length ? list(crashes.reverse(), name) : el('p', { class: 'empty', text: name ? `${name} has not crashed.` : 'Nothing has crashed.' }));
    } catch (e) {
      if (!ended) body.replaceChildren(el('p', { class: 'empty bad', text: e.message }));
    }
  };
  const unwatch = model.watch(() => {
    // A report is kept when its event comes.
    const last = model.events.findLast((e) => e.crash_id && (!name || e.host === name))?.crash_id ?? '';
    if (last === known) return;
    known = last;
    load();
  });
  return () => {
    ended = true;
    unwatch();
  };
}

const list = (crashes, name) => table('Crashes', ['Time', ...(name ? [] : ['Host']), 'Reason', 'Life', 'Up for', 'Pending', 'Then'], crashes.map((c) => [
  el('a', { class: 'nowrap', href: `#/crashes/${seg(c.id)}`, text: moment(c.time) }),
  ...(name ? [] : [el('a', { href: `#/host/${seg(c.host)}/crashes`, text: c.host })]),
  el('span', { class: 'wide', text: c.reason || exit(c.exit) }), String(c.life), span(c.uptime_seconds), String(c.pending), c.next,
]));

// crashView shows one report.
export function crashView(main, id) {
  const body = el('div', { class: 'body' }, el('p', { class: 'empty', text: '…' }));
  main.append(body);
  let ended = false;
  get(`/v1/crashes/${seg(id)}`).then((c) => !ended && body.replaceChildren(...report(c)))
    .catch((e) => !ended && body.replaceChildren(el('p', { class: 'empty bad', text: e.message })));
  return () => { ended = true; };
}

const report = (c) => [
  el('div', { class: 'head' }, el('h1', null, el('a', { href: `#/host/${seg(c.host)}`, text: c.host }), ` crashed at ${moment(c.time)}`)),
  el('p', { class: 'lead', text: c.reason || exit(c.exit) }),
  facts([
    ['life', String(c.life)], ['pid', String(c.pid)], ['exit', c.exit && exit(c.exit)], ['up for', span(c.uptime_seconds)], ['then', c.next],
    ['crashes', `${c.crashes_in_window} in the window`], ['pending calls', String(c.pending)], ['was', c.state], ['core', c.core ? 'dumped' : null],
    ['memory', `${bytes(c.max_rss_bytes)} at most`], ['processor', `${took(c.user_seconds)} user, ${took(c.system_seconds)} system`], ['protocol', c.protocol],
  ]),
  el('p', { class: 'dim cut', title: c.command.join(' ') }, el('code', { text: c.command.join(' ') })),
  el('h2', { text: 'Last words' }),
  c.lines.length ? el('div', { class: 'log still', tabindex: 0, role: 'region', 'aria-label': 'Last words' }, el('div', { class: 'lines' },
    c.lines.map((l) => el('div', { 'data-stream': l.stream }, el('time', { text: clock(l.time, true) }), el('span', { text: plain(l.text) })))))
    : el('p', { class: 'empty', text: 'It printed nothing.' }),
  el('h2', { text: 'Last messages' }),
  c.messages.length ? table('Last messages', ['Time', 'Direction', 'Kind', 'Id', 'Method', 'Size'], c.messages.map((m) => [
    el('span', { class: 'nowrap', text: clock(m.time, true) }), m.dir, m.kind, m.id ? String(m.id) : '', m.method ?? '', bytes(m.size)]))
    : el('p', { class: 'empty', text: 'There were none.' }),
  ...(c.denials?.length ? [el('h2', { text: 'What its sandbox refused' }), denials(c.denials)] : []),
  ...(c.bad_bytes ? [el('h2', { text: 'Bytes that broke the protocol' }), el('pre', { text: hex(c.bad_bytes) })] : []),
  ...(c.extensions ? [el('h2', { text: 'Extensions' }), el('pre', { text: JSON.stringify(c.extensions, null, 2) })] : []),
];

const hex = (text) => Array.from(atob(text), (ch) => ch.charCodeAt(0).toString(16).padStart(2, '0')).join(' ');
