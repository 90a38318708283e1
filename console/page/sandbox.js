// How a host is confined, and what it was refused, with the line of policy that would
// allow it.

import { note } from './actions.js';
import { el, table } from './dom.js';
import { moment } from './format.js';
import { model } from './model.js';

export function sandboxView(main, name) {
  const body = el('div');
  main.append(body);
  model.reload(0); // events do not carry what was refused
  let known = '';
  return model.watch(() => {
    const s = model.hosts.get(name)?.sandbox;
    const key = JSON.stringify(s);
    if (!s || key === known) return;
    known = key;
    const rows = [...(s.missing ?? []).map((m) => ['missing', m]), ...(s.weaker ?? []).map((w) => ['weaker', `the limit of ${w} is held by weaker means than asked for`])];
    body.replaceChildren(
      el('p', { class: 'lead' }, 'Level ', el('b', { class: 'badge', 'data-level': s.level, text: s.level }), LEVELS[s.level] ? ` ${LEVELS[s.level]}` : ''),
      rows.length ? el('ul', { class: 'plain' }, rows.map(([what, text]) => el('li', null, el('span', { class: 'dim', text: `${what}: ` }), text))) : '',
      el('h2', { text: 'Refused in this life' }),
      s.denials?.length ? denials(s.denials) : el('p', { class: 'empty', text: s.level === 'none' ? 'Nothing is enforced, so nothing is refused.' : 'Nothing was refused.' }));
  });
}

const LEVELS = {
  full: 'Files, network, system calls and resources are confined.',
  'no-cgroup': 'Files, network and system calls are confined; resources are not held by a cgroup.',
  landlock: 'Only what Landlock knows is confined.',
  none: 'The host may do whatever its user may.',
};

// denials makes a table of what was refused.
export const denials = (all) => table('What was refused', ['What', 'Times', 'Last', 'Would be allowed by'], all.map((d) => [
  el('span', { class: 'wide' }, el('span', { class: 'dim', text: `${d.kind} ` }), el('code', { text: d.path }), d.hint ? el('span', { class: 'dim', text: ' (as its process says)' }) : ''),
  String(d.count), el('span', { class: 'nowrap', text: moment(d.last) }),
  d.suggest ? el('span', { class: 'policy' }, el('code', { text: d.suggest }), el('button', { type: 'button', text: 'copy', 'aria-label': `copy ${d.suggest}`, on: { click: () => copy(d.suggest) } }))
    : el('span', { class: 'dim', text: 'no policy' }),
]));

function copy(text) {
  navigator.clipboard?.writeText(text).then(() => note('copied'), () => note('the browser does not allow copying', true));
}
