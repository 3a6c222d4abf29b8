const records = JSON.parse(document.getElementById('records').textContent);
const { texts, trees, plan } = records;
const CONSUMERS = 50;
// Longest list that is printed in full.
const PRINTED = 300;
const text = (place) => (place < 0 ? '' : texts[place]);
const number = (value) => value.toLocaleString('en-US');
const plural = (count, what) => `${number(count)} ${what}${count === 1 ? '' : 's'}`;

// Names as people count: compute2 before compute10.
const names = new Intl.Collator('en', { numeric: true });
const compare = (a, b) => (typeof a === 'string' ? names.compare(a, b) : a - b);

// Elements. Texts of the cloud are text nodes only, never HTML.

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const name = (written) => element('bdi', {}, written);
const drawing = (tag, attributes) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
// Amounts with their units

const sized = (resource, value) => {
  let unit = records.units[resource];
  if (!unit || !value) return number(value);
  for (const larger of records.ladder.slice(records.ladder.indexOf(unit) + 1)) {
    if (value < 1024) break;
    [value, unit] = [value / 1024, larger];
  }
  return `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} ${unit}`;
};

// Files of comma-separated values, made here: the page may load nothing, and needs no server

const formula = new RegExp(records.formula);
const quoted = (value) => {
  const safe = typeof value === 'string' && formula.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const exporting = (named, rowsOf) => {
  const button = element('button', { type: 'button', class: 'csv', 'data-file': named },
    `CSV of ${named.replaceAll('-', ' ')}`);
  button.addEventListener('click', () => {
    const lines = rowsOf().map((values) => values.map(quoted).join(','));
    const url = URL.createObjectURL(new Blob([`\ufeff${lines.join('\r\n')}\r\n`],
      { type: 'text/csv' }));
    element('a', { href: url, download: `${named}.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  });
  return button;
};
for (const made of document.querySelectorAll('table[data-csv]')) {
  const written = (field) => {
    const exact = field.dataset.value;
    return exact === undefined ? field.textContent.trim() : Number(exact);
  };
  made.caption.append(' ', exporting(made.dataset.csv, () => {
    const bodies = [...made.tBodies[0].rows].map((record) =>
      [...record.cells].filter((one) => !one.matches('.meter, .distribution')));
    const [, ...labels] = bodies[0].map((one) => one.dataset.label);
    return [[made.tHead.rows[0].cells[0].textContent, ...labels],
      ...bodies.map((cells) => cells.map(written))];
  }));
}

const row = (...cells) => element('tr', { role: 'row' }, ...cells);
const cell = (content, label, kind = '') =>
  element('td', { role: 'cell', class: kind, ...(label && { 'data-label': label }) }, content);
const size = (resource, value, label, kind = '') => {
  const made = cell(sized(resource, value), label, `number ${kind}`);
  made.title = number(value);
  return made;
};
const count = (value, label, kind = '') => cell(number(value), label, `number ${kind}`);
const header = (...content) => element('th', { scope: 'row', role: 'rowheader' }, ...content);
const table = (caption, headings, rows) => {
  const cells = headings.map(([label, kind = '']) =>
    element('th', { scope: 'col', role: 'columnheader', class: kind }, label));
  return element('table', { role: 'table' }, element('caption', {}, caption),
    element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...cells)),
    element('tbody', { role: 'rowgroup' }, ...rows));
};

// How full

const share = (used, capacity) =>
  capacity > 0 ? Math.min(used / capacity, 1) : used ? 1 : 0;
const level = (used, capacity) =>
  records.levels.find(([from]) => share(used, capacity) >= from)[1];
const percent = (used, capacity) => {
  if (capacity <= 0) return '–';
  const whole = Math.floor((100 * used) / capacity);
  return used && !whole ? '< 1 %' : `${whole} %`;
};
const bar = (used, capacity) => {
  const made = drawing('svg', { class: `bar ${level(used, capacity)}`, viewBox: '0 0 100 8',
    preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  const filled = 100 * share(used, capacity);
  made.append(drawing('rect', { class: 'track', width: 100, height: 8 }),
    drawing('rect', { class: 'fill', width: filled, height: 8 }));
  return made;
};
const fill = (resource, used, capacity) => {
  const exact = `${number(used)} of ${number(capacity)}`;
  return element('span', { class: 'fill', title: exact }, bar(used, capacity),
    element('span', { class: `percent ${level(used, capacity)}` }, percent(used, capacity)),
    element('span', { class: 'exact' }, `${sized(resource, used)} of ${sized(resource, capacity)}`));
};

// Lists: a page of rows at a time, found by what they have, opened on demand

const listing = (id, items, { page: size, cells, terms, open, orders = [], openPrinted, fill: fillOf, csv = {} }) => {
  const list = document.getElementById(id);
  if (!list) return null;
  const find = list.querySelector('input');
  const output = list.querySelector('output');
  const choices = [...list.querySelectorAll('select')];
  const body = list.querySelector('tbody');
  const headings = [...list.querySelectorAll('thead th')];
  const pages = list.querySelector('.pages');
  const [previous, next] = pages.querySelectorAll('button');
  let shown = items.map((item) => ({ item, hit: '' }));
  let first = 0;
  let order = null;
  let everything = false;
  const searchable = [];
  const opened = new Set();

  // The only hit of a search is opened.
  const isOpen = (item) => opened.has(item) || (everything && openPrinted)
    || (find.value && shown.length === 1);
  const rowsOf = ({ item, hit }) => {
    const made = row(...cells(item));
    if (hit) made.cells[0].append(element('small', {}, name(hit)));
    if (!open) return [made];
    const below = () => element('tr', { role: 'row', class: 'opened' },
      element('td', { role: 'cell', colspan: headings.length }, ...open(item)));
    const button = element('button', { type: 'button', class: 'open' }, made.cells[0].firstChild);
    made.cells[0].prepend(button);
    button.setAttribute('aria-expanded', String(Boolean(isOpen(item))));
    button.addEventListener('click', () => {
      const opens = button.getAttribute('aria-expanded') === 'false';
      button.setAttribute('aria-expanded', String(opens));
      if (opens) {
        opened.add(item);
        made.after(below());
      } else {
        opened.delete(item);
        made.nextSibling.remove();
      }
    });
    return isOpen(item) ? [made, below()] : [made];
  };
  const draw = () => {
    const page = everything ? shown : shown.slice(first, first + size);
    body.replaceChildren(...page.flatMap(rowsOf));
    const last = Math.min(first + size, shown.length);
    pages.hidden = everything || shown.length <= size;
    pages.querySelector('span').textContent =
      `${number(first + 1)}–${number(last)} of ${number(shown.length)}`;
    previous.disabled = first === 0;
    next.disabled = last >= shown.length;
  };
  const search = () => {
    const query = find.value.trim().toLowerCase();
    const [least, chosen] = [Number(choices[0]?.value), choices[1]?.value];
    shown = [];
    items.forEach((item, place) => {
      if (fillOf && fillOf(item, chosen) < least) return undefined;
      if (!query) return shown.push({ item, hit: '' });
      searchable[place] ??= terms(item).map((term) => term.toLowerCase());
      const where = searchable[place].findIndex((term) => term.includes(query));
      return where >= 0 && shown.push({ item, hit: where && terms(item)[where] });
    });
    const by = order ?? (least ? { key: (item) => fillOf(item, chosen), down: true } : null);
    if (by) {
      const { key, down } = by;
      const sign = down ? -1 : 1;
      shown.sort((a, b) => sign * compare(key(a.item), key(b.item)));
    }
    output.textContent = shown.length === items.length
      ? number(items.length) : `${number(shown.length)} of ${number(items.length)}`;
    first = 0;
    draw();
  };
  const turn = (by) => () => {
    first += by;
    draw();
    list.scrollIntoView({ block: 'start' });
  };
  orders.forEach((key, place) => {
    if (!key || !headings[place]) return;
    const button = element('button', { type: 'button', class: 'order' },
      ...headings[place].childNodes);
    headings[place].append(button);
    button.addEventListener('click', () => {
      // Names from the first, figures from the highest.
      const down = order?.key === key ? !order.down : place > 0;
      headings.forEach((heading) => heading.removeAttribute('aria-sort'));
      headings[place].setAttribute('aria-sort', down ? 'descending' : 'ascending');
      order = { key, down };
      search();
    });
  });
  find.addEventListener('input', search);
  for (const choice of choices) choice.addEventListener('change', search);
  for (const [named, { headings: written, rows }] of Object.entries(csv)) {
    output.after(exporting(named, () => [written, ...shown.flatMap(({ item }) => rows(item))]));
  }
  previous.addEventListener('click', turn(-size));
  next.addEventListener('click', turn(size));
  window.addEventListener('beforeprint', () => {
    everything = shown.length <= PRINTED;
    if (everything) draw();
  });
  window.addEventListener('afterprint', () => {
    if (everything) {
      everything = false;
      draw();
    }
  });
  list.hidden = false;
  search();
  return (query) => {
    find.value = query;
    search();
    list.scrollIntoView({ block: 'start' });
  };
};

// Providers, one below the other

const nested = (providers, parentOf, draw) => {
  const items = providers.map((provider) => element('li', {}, ...draw(provider)));
  const top = element('ul', { class: 'tree' });
  providers.forEach((provider, place) => {
    const above = items[parentOf(provider)];
    if (!above) return top.append(items[place]);
    if (above.lastChild.nodeName !== 'UL') above.append(element('ul'));
    return above.lastChild.append(items[place]);
  });
  return top;
};
function* inThrees(values) {
  for (let at = 0; at < values.length; at += 3) yield values.slice(at, at + 3);
}
const listed = (label, places) =>
  (places.length ? [element('p', { class: 'traits' }, `${label} `,
    name(places.map(text).join(', ')))] : []);
