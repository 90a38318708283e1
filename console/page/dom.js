// Elements. Text from hosts only ever becomes text nodes and attributes, never HTML.

const SVG = 'http://www.w3.org/2000/svg';

// fill sets properties and children of an element: class, text, on (listeners), and
// attributes; null and false leave an attribute out, but for those of ARIA, which need the
// word.
function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === 'text') node.textContent = value;
    else if (name === 'on') for (const [type, f] of Object.entries(value)) node.addEventListener(type, f);
    else if (name.startsWith('aria-') && value !== null && value !== undefined) node.setAttribute(name, String(value));
    else if (value !== null && value !== undefined && value !== false) {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

// el makes an HTML element.
export const el = (tag, props, ...children) => fill(document.createElement(tag), props, children);

// svg makes an SVG element.
export const svg = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

// setText changes a text only if it differs, so that nothing is laid out anew.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// setAttr does so for an attribute; null removes it.
export function setAttr(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// facts makes a list of names and values; those without a value are left out.
export function facts(rows) {
  return el('dl', { class: 'facts' }, rows.filter(([, v]) => v !== null && v !== undefined && v !== '')
    .map(([name, value]) => el('div', null, el('dt', { text: name }), el('dd', null, value))));
}

// table makes a table of rows, whose cells are texts or nodes.
export function table(label, titles, rows) {
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label },
    el('table', null,
      el('thead', null, el('tr', null, titles.map((t) => el('th', { scope: 'col', text: t })))),
      el('tbody', null, rows.map((cells) => el('tr', null, cells.map((c) => el('td', null, c)))))));
}
