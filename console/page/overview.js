// The whole tree: the supervisor, its exec servers, and what happened last.

import { el, facts } from './dom.js';
import { ago, bytes, clock, cores, count, rate } from './format.js';
import { model } from './model.js';

export function overviewView(main) {
  const head = el('div');
  const sums = el('div', { class: 'sums' });
  const trouble = el('div');
  const servers = el('div');
  const events = el('ol', { class: 'steps long' });
  main.append(el('h1', { text: 'Overview' }), sums, trouble, head, servers, el('h2', { text: 'Latest events' }), events);
  let known = '';
  return model.watch(() => {
    const s = model.supervisor;
    if (!s) return;
    const hosts = [...model.hosts.values()];
    const sum = (column) => hosts.reduce((n, h) => n + (h.now[column] ?? 0), 0);
    const up = hosts.filter((h) => h.state === 'running').length;
    const key = JSON.stringify([model.events.at(-1)?.seq, sum('rss_bytes'), sum('cpu_cores'), up, hosts.length, s.configuration?.refused]);
    if (key === known) return;
    known = key;
    sums.replaceChildren(
      ...[['hosts running', `${up} of ${hosts.length}`], ['processor', cores(sum('cpu_cores'))], ['memory', bytes(sum('rss_bytes'))],
        ['calls a second', rate(sum('calls_per_second'))], ['pending', count(sum('pending'))], ['restarts', count(sum('restarts'))]]
        .map(([name, value]) => el('div', null, el('b', { text: value }), el('span', { class: 'dim', text: name }))));
    trouble.replaceChildren(...hosts.filter((h) => ['failed', 'unresponsive', 'crashed'].includes(h.state)).slice(0, 8).map((h) => el('a', { class: 'trouble', href: `#/host/${encodeURIComponent(h.name)}` },
      el('i', { class: 'dot', 'data-state': h.state, 'aria-hidden': 'true' }), el('b', { text: h.name }), el('span', { class: 'word', 'data-state': h.state, text: h.state }), el('span', { class: 'cut dim', text: h.reason ?? '' }))));
    const refused = s.configuration?.refused;
    head.replaceChildren(
      ...(refused ? [el('p', { class: 'lead bad', text: `The configuration that was read ${ago(refused.at)} ago is not in force: ${refused.reason}` })] : []),
      facts([['version', s.version], ['pid', String(s.pid)], ['up', ago(s.started)], ['configuration', s.config], ['socket', s.socket],
        ['process trees end by', s.kill], ['because', s.missing.join('; ')]]));
    servers.replaceChildren(...model.parts.map((p) => facts([['exec server', p.name], ['state', p.state], ['address', p.url], ['reason', p.reason]])));
    events.replaceChildren(...model.events.slice(-60).reverse().map(line));
  }, 250);
}

const line = (e) => el('li', null,
  el('time', { class: 'dim', text: clock(e.time, true) }),
  e.host ? el('a', { class: 'cut', href: `#/host/${encodeURIComponent(e.host)}`, text: e.host }) : el('span', { class: 'cut dim', text: e.group ?? 'supervisor' }),
  el('span', { class: 'word', 'data-state': e.to, text: e.to ?? e.kind }),
  el('span', { class: 'cut', text: e.reason, title: e.reason }));
