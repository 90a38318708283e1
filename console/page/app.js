// The page: asks for the token, keeps the model current, and shows the view of the URL.

import { forgetToken, setToken, takeToken } from './api.js';
import { crashesView, crashView } from './crashes.js';
import { el, setAttr, setText } from './dom.js';
import { extensionsView } from './extensions.js';
import { hostView } from './host.js';
import { logsView } from './logs.js';
import { model } from './model.js';
import { overviewView } from './overview.js';
import { Tree } from './tree.js';

const $ = (id) => document.getElementById(id);

const NAV = [['', 'Overview'], ['logs', 'Logs'], ['crashes', 'Crashes'], ['extensions', 'Extensions']];

// routeOf reads the part of the URL behind #/.
function routeOf() {
  const [view = '', ...args] = location.hash.replace(/^#\/?/, '').split('/').map((s) => {
    try {
      return decodeURIComponent(s);
    } catch {
      return s;
    }
  });
  return { view, args };
}

let leave = () => {}; // what the present view has to undo
let tree;
let shown = ''; // the view with what it is of

function show() {
  const { view, args } = routeOf();
  document.body.dataset.view = view || 'overview';
  for (const link of $('nav').children) setAttr(link, 'aria-current', link.dataset.view === view ? 'page' : null);
  tree?.choose(view === 'host' ? args[0] : null);
  const key = JSON.stringify([view, args]);
  if (key === shown) return;
  shown = key;
  leave();
  const main = $('main');
  main.replaceChildren();
  main.scrollTop = 0;
  const views = {
    '': () => overviewView(main),
    hosts: () => () => {}, // the list alone, on a phone
    host: () => hostView(main, args[0], args[1] ?? ''),
    logs: () => logsView(main, null),
    crashes: () => (args[0] ? crashView(main, args[0]) : crashesView(main, null)),
    extensions: () => extensionsView(main, null),
  };
  leave = (views[view] ?? views[''])();
}

function header() {
  setText($('link'), model.live ? 'live' : 'connecting…');
  setAttr($('link'), 'data-live', model.live);
  setText($('who'), model.caller.token ? `${model.caller.token} · ${model.caller.role}` : '');
  const failed = [...model.hosts.values()].filter((h) => h.state === 'failed').length;
  document.title = failed ? `(${failed}) hostsup` : 'hostsup';
}

async function begin() {
  $('login').hidden = true;
  $('app').hidden = false;
  if (!tree) {
    $('nav').append(el('a', { href: '#/hosts', 'data-view': 'hosts', class: 'phone', text: 'Hosts' }),
      ...NAV.map(([view, text]) => el('a', { href: `#/${view}`, 'data-view': view, text })));
    tree = new Tree($('side'));
    model.watch(header);
  }
  show();
  try {
    await model.run();
  } catch (e) {
    ask(e.message);
  }
}

// ask shows the form for the token.
function ask(why = '') {
  forgetToken();
  leave();
  leave = () => {};
  shown = '';
  $('main').replaceChildren();
  $('app').hidden = true;
  $('login').hidden = false;
  setText($('refused'), why);
  $('token').value = '';
  $('token').focus();
}

$('login').addEventListener('submit', (e) => {
  e.preventDefault();
  setToken($('token').value.trim());
  begin();
});

addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) {
    takeToken();
    location.reload();
  } else if (!$('app').hidden) {
    show();
  }
});

addEventListener('keydown', (e) => {
  if (e.key === '/' && !e.ctrlKey && !e.metaKey && !/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName) && tree) {
    e.preventDefault();
    tree.filter.focus();
  }
});

if (takeToken()) begin();
else ask();
