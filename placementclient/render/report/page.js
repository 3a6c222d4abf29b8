'use strict';
(() => {
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

  const sized = (each, value) => {
    let unit = records.units[each];
    if (!unit) return number(value);
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
    const written = (each) => {
      const exact = each.dataset.value;
      return exact === undefined ? each.textContent.trim() : Number(exact);
    };
    made.caption.append(' ', exporting(made.dataset.csv, () => {
      const bodies = [...made.tBodies[0].rows].map((each) =>
        [...each.cells].filter((one) => !one.matches('.meter, .distribution')));
      const [, ...labels] = bodies[0].map((one) => one.dataset.label);
      return [[made.tHead.rows[0].cells[0].textContent, ...labels],
        ...bodies.map((cells) => cells.map(written))];
    }));
  }

  const row = (...cells) => element('tr', { role: 'row' }, ...cells);
  const cell = (content, label, kind = '') =>
    element('td', { role: 'cell', class: kind, ...(label && { 'data-label': label }) }, content);
  const size = (each, value, label, kind = '') => {
    const made = cell(sized(each, value), label, `number ${kind}`);
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
  const fill = (each, used, capacity) => {
    const exact = `${number(used)} of ${number(capacity)}`;
    return element('span', { class: 'fill', title: exact }, bar(used, capacity),
      element('span', { class: `percent ${level(used, capacity)}` }, percent(used, capacity)),
      element('span', { class: 'exact' }, `${sized(each, used)} of ${sized(each, capacity)}`));
  };

  // Lists: a page of rows at a time, found by what they have, opened on demand

  const listing = (id, items, { page: size, cells, found, open, orders = [], openPrinted, fill: fillOf, csv = {} }) => {
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
      const wanted = find.value.trim().toLowerCase();
      const [least, chosen] = [Number(choices[0]?.value), choices[1]?.value];
      shown = [];
      items.forEach((item, place) => {
        if (fillOf && fillOf(item, chosen) < least) return undefined;
        if (!wanted) return shown.push({ item, hit: '' });
        searchable[place] ??= found(item).map((each) => each.toLowerCase());
        const where = searchable[place].findIndex((each) => each.includes(wanted));
        return where >= 0 && shown.push({ item, hit: where && found(item)[where] });
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
        headings.forEach((each) => each.removeAttribute('aria-sort'));
        headings[place].setAttribute('aria-sort', down ? 'descending' : 'ascending');
        order = { key, down };
        search();
      });
    });
    find.addEventListener('input', search);
    for (const each of choices) each.addEventListener('change', search);
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
    return (wanted) => {
      find.value = wanted;
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

  // Trees

  const inventories = (provider) => [...inThrees(provider[3])].map(([place, inventory, used]) => ({
    name: text(place), used, fields: records.inventories[inventory],
  }));
  const amounts = new Map();
  const amountsOf = (tree) => {
    if (!amounts.has(tree)) {
      const sums = {};
      for (const provider of tree[0]) {
        for (const { name: each, used, fields } of inventories(provider)) {
          sums[each] ??= [0, 0];
          sums[each][0] += used;
          sums[each][1] += fields[0];
        }
      }
      amounts.set(tree, sums);
    }
    return amounts.get(tree);
  };
  const remarks = (each, [, total, reserved, ratio, least, most, step]) => [
    `total ${sized(each, total)}`,
    reserved && `${sized(each, reserved)} reserved`,
    ratio !== 1 && `ratio ${ratio}`,
    least > 1 && `at least ${sized(each, least)} at once`,
    most < total && `at most ${sized(each, most)} at once`,
    step > 1 && `in steps of ${sized(each, step)}`,
  ].filter(Boolean).join(', ');
  const classes = (provider) => table('Inventories', [
    ['Class'], ['Fill'], ['Used', 'number'], ['Capacity', 'number'], ['Made of'],
  ], inventories(provider).map(({ name: each, used, fields }) => row(
    header(name(each)),
    element('td', { role: 'cell', class: 'meter', 'data-label': 'Fill' }, bar(used, fields[0]),
      element('span', { class: `percent ${level(used, fields[0])}` }, percent(used, fields[0]))),
    size(each, used, 'Used'), size(each, fields[0], 'Capacity'),
    cell(remarks(each, fields), 'Made of', 'remarks'))));
  const pairsOf = (pairs) => {
    const held = [];
    for (let at = 0; at < pairs.length; at += 2) held.push([pairs[at], pairs[at + 1]]);
    return held;
  };
  const resources = (pairs) => pairsOf(pairs)
    .map(([each, amount]) => `${text(each)} ${sized(text(each), amount)}`).join(', ');
  const consumersOn = (provider) => pairsOf(provider[6])
    .map(([place, held]) => [records.consumers[place], held]);
  // A server by its name, where it is known, with the UUID below.
  const consumerName = ([uuid, , , server]) => [
    ...(server ? [element('strong', {}, name(server)), ' '] : []), element('code', {}, name(uuid)),
  ];
  const consumers = (provider) => {
    const found = consumersOn(provider);
    if (!found.length) return [];
    const made = element('details', {}, element('summary', {}, plural(found.length, 'consumer')));
    const rows = table('Consumers', [['Server'], ['Holds'], ['Project'], ['Type']], []);
    const more = element('button', { type: 'button' }, 'More');
    let drawn = 0;
    const draw = () => {
      const part = found.slice(drawn, drawn + CONSUMERS);
      rows.tBodies[0].append(...part.map(([consumer, what]) => row(
        header(...consumerName(consumer)), cell(name(resources(what)), 'Holds'),
        cell(name(text(consumer[1])), 'Project'), cell(name(text(consumer[2])), 'Type'))));
      drawn += part.length;
      more.hidden = drawn === found.length;
    };
    more.addEventListener('click', draw);
    made.addEventListener('toggle', () => {
      if (!drawn) draw();
    });
    made.append(rows, more);
    return [made];
  };
  const sharing = (tree) => tree[1].map(([root, place]) => trees[root][0][place]);
  const openTree = (tree) => {
    const shared = sharing(tree);
    const one = (provider) => [
      element('p', { class: 'provider' }, element('strong', {}, name(provider[0])), ' ',
        element('code', {}, name(provider[1]))),
      ...(provider[3].length ? [classes(provider)] : []),
      ...listed('Traits', records.sets[provider[4]]),
      ...listed('Aggregates', records.sets[provider[5]]),
    ];
    const made = [nested(tree[0], (provider) => provider[2],
      (provider) => [...one(provider), ...consumers(provider)])];
    if (shared.length) {
      made.push(element('p', { class: 'shared' }, 'Shared with this host'),
        nested(shared, () => -1, one));
    }
    return made;
  };
  const others = (sums) => Object.entries(sums).filter(([each]) => !records.columns.includes(each));
  const nameOf = (tree) => tree[0][0][0];
  const inOrder = [...trees].sort((a, b) => compare(nameOf(a), nameOf(b)));
  const findTree = listing('all-trees', inOrder, {
    page: 50,
    // The fill of one class, or of the fullest; -1 for a host without the class.
    fill: (tree, each) => {
      const sums = amountsOf(tree);
      const fills = each ? [sums[each]].filter(Boolean) : Object.values(sums);
      return fills.reduce((most, [used, capacity]) => Math.max(most, share(used, capacity)),
        each ? -1 : 0);
    },
    csv: {
      consumers: {
        headings: ['host', 'provider', 'consumer', 'name', 'project', 'type', 'class', 'amount'],
        rows: (tree) => tree[0].flatMap((provider) => consumersOn(provider).flatMap(
          ([[uuid, project, type, server], held]) => pairsOf(held).map(([each, amount]) =>
            [nameOf(tree), provider[0], uuid, server, text(project), text(type), text(each), amount]))),
      },
      hosts: {
        headings: ['host', 'provider', 'uuid', 'class', 'used', 'capacity', 'total', 'reserved', 'ratio'],
        rows: (tree) => tree[0].flatMap((provider) => inventories(provider).map(
          ({ name: each, used, fields: [capacity, total, reserved, ratio] }) =>
            [nameOf(tree), provider[0], provider[1], each, used, capacity, total, reserved, ratio])),
      },
    },
    cells: (tree) => {
      const sums = amountsOf(tree);
      const rest = others(sums).map(([each, sum]) => `${each} ${percent(...sum)}`).join(', ');
      const elsewhere = (each) => {
        const by = sharing(tree).filter((provider) =>
          inventories(provider).some((inventory) => inventory.name === each));
        return by.length ? element('span', { class: 'elsewhere' }, 'shared by ',
          name(by.map((provider) => provider[0]).join(', '))) : '';
      };
      return [
        header(name(nameOf(tree))),
        ...records.columns.map((each) =>
          cell(sums[each] ? fill(each, ...sums[each]) : elsewhere(each), each, 'meter')),
        ...(records.others.length ? [cell(name(rest), records.others[0], 'remarks')] : []),
      ];
    },
    found: ([providers]) => providers.flatMap((provider) => [
      provider[0], provider[1],
      ...consumersOn(provider).flatMap(([[uuid, , , server]]) => (server ? [uuid, server] : [uuid])),
      ...[provider[4], provider[5]].flatMap((set) => records.sets[set].map(text)),
    ]),
    open: openTree,
    orders: [
      nameOf,
      ...records.columns.map((each) => (tree) => {
        const [used, capacity] = amountsOf(tree)[each] ?? [-1, 1];
        return capacity > 0 ? used / capacity : Math.sign(used);
      }),
    ],
  });

  // Findings

  const severity = (written) => element('span', { class: `severity ${written}` }, written);
  const called = (subject, button) => {
    const server = servers.get(subject);
    if (!server) return button;
    return element('span', {}, element('strong', {}, name(server)), ' ', button);
  };
  const servers = new Map(records.consumers.map(([uuid, , , server]) => [uuid, server]));
  listing('findings', records.findings, {
    page: 10,
    csv: {
      findings: {
        headings: ['check', 'severity', 'subject', 'server', 'evidence', 'command', 'reason'],
        rows: ([kind, check, subject, ...rest]) =>
          [[text(check), text(kind), subject, servers.get(subject) ?? '', ...rest]],
      },
    },
    cells: ([kind, check, subject, evidence, command, reason]) => {
      const button = element('button', { type: 'button', class: 'link' }, name(subject));
      button.addEventListener('click', () => findTree(subject));
      return [
        header(text(check)), cell(severity(text(kind)), 'Severity'), cell(called(subject, button), 'Subject'),
        cell(name(evidence), 'Evidence'), cell(element('code', {}, name(command)), 'Command'),
        cell(name(reason), 'Reason'),
      ];
    },
    found: ([kind, check, subject, evidence]) =>
      [text(check), subject, text(kind), evidence, servers.get(subject) ?? ''],
  });

  // The plan

  const side = (tree, after) => {
    const [, providers] = tree;
    const there = providers.filter((provider) => after || !provider[2]);
    const figuresOf = (provider, at) => [...inThrees(provider[at])];
    return nested(there, (provider) => there.indexOf(providers[provider[1]]), (provider) => {
      const [named, , isNew, , , gained, lost] = provider;
      const beside = new Map(figuresOf(provider, after ? 3 : 4)
        .map(([place, used, capacity]) => [place, [used, capacity]]));
      const rows = figuresOf(provider, after ? 4 : 3).map(([place, used, capacity]) => {
        const [otherUsed, other] = beside.get(place) ?? [null, null];
        const mark = (differs) => (differs ? 'changed' : '');
        return row(header(name(text(place))), size(text(place), used, 'Used', mark(used !== otherUsed)),
          size(text(place), capacity, 'Capacity', mark(capacity !== other)));
      });
      return [
        element('p', { class: 'provider' }, element('strong', {}, name(text(named))),
          ...(isNew ? [' ', element('span', { class: 'new' }, 'new')] : [])),
        ...(rows.length ? [table('Inventories',
          [['Class'], ['Used', 'number'], ['Capacity', 'number']], rows)] : []),
        ...(after ? [...listed('Traits gained:', gained), ...listed('Traits lost:', lost)] : []),
      ];
    });
  };
  // A warning that several hosts have, but for their names, is in the list above them only.
  const general = (named, each) => text(each).replaceAll(named, '');
  const spread = new Map();
  for (const [named, , , warnings] of plan) {
    for (const each of warnings) {
      const key = general(named, each);
      spread.set(key, (spread.get(key) ?? 0) + 1);
    }
  }
  const openPlanned = (tree) => {
    const [named, , rows, warnings] = tree;
    const own = warnings.filter((each) => spread.get(general(named, each)) === 1);
    const halves = [['Before', false], ['After', true]].map(([title, after]) =>
      element('div', {}, element('h4', {}, title), side(tree, after)));
    const who = rows.map(([consumer, amount, was, becomes, from, to, label, evidence]) => row(
      header(...consumerName(records.consumers[consumer])),
      cell(name(`${sized(text(was), amount)} ${text(was)}${was === becomes ? '' : ` as ${text(becomes)}`}`), 'Amount'),
      cell(name(text(from) || 'new'), 'From'), cell(name(text(to) || 'removed'), 'To'),
      cell(element('span', { class: `label ${text(label)}` }, text(label)), 'Why'),
      cell(name(text(evidence)), 'Evidence', 'remarks')));
    return [
      element('div', { class: 'halves' }, ...halves),
      ...(who.length ? [element('h4', {}, 'The place of each server'), table('The place of each server',
        [['Server'], ['Amount'], ['From'], ['To'], ['Why'], ['Evidence']], who)] : []),
      ...(own.length ? [element('h4', {}, 'Warnings'), element('ul', { class: 'warnings' },
        ...own.map((each) => element('li', {}, name(text(each)))))] : []),
      ...(own.length < warnings.length ? [element('p', { class: 'note' },
        `${plural(warnings.length - own.length, 'warning')} for several hosts: see `,
        element('a', { href: '#warnings' }, 'Warnings'))] : []),
    ];
  };
  const labelled = (rows, label) => rows.filter((each) => text(each[6]) === label).length;
  const created = (providers) => providers.filter((each) => each[2]).length;
  const moved = (rows) => new Set(rows.map((each) => each[0])).size;
  const labels = ['forced', 'mapped', 'inferred'];
  const inPlanOrder = [...plan].sort(([a], [b]) => compare(a, b));
  listing('planned-trees', inPlanOrder, {
    page: 20,
    csv: {
      'moved-allocations': {
        headings: ['host', 'consumer', 'name', 'amount', 'class', 'from', 'to', 'new_class', 'why', 'evidence'],
        rows: ([named, , rows]) => rows.map(([consumer, amount, was, becomes, from, to, label, evidence]) => {
          const [uuid, , , server] = records.consumers[consumer];
          return [named, uuid, server, amount, text(was), text(from), text(to), text(becomes),
            text(label), text(evidence)];
        }),
      },
    },
    cells: ([named, providers, rows, warnings]) => [
      header(name(named)), count(created(providers), 'To create'), count(moved(rows), 'Servers'),
      ...labels.map((label) => count(labelled(rows, label), label)),
      count(warnings.length, 'Warnings'),
    ],
    found: ([named, providers, rows]) => [
      named, ...providers.map((each) => text(each[0])),
      ...rows.flatMap((each) => [records.consumers[each[0]][0], records.consumers[each[0]][3]]),
    ],
    open: openPlanned,
    openPrinted: true,
    orders: [
      ([named]) => named, ([, providers]) => created(providers), ([, , rows]) => moved(rows),
      ...labels.map((label) => ([, , rows]) => labelled(rows, label)),
      ([, , , warnings]) => warnings.length,
    ],
  });
  // benchmarks/report.py measures the time until this mark.
  performance.mark('drawn');
})();
