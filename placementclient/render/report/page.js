// Trees

const inventories = (provider) => [...inThrees(provider[3])].map(([place, inventory, used]) => ({
  name: text(place), used, fields: records.inventories[inventory],
}));
const amounts = new Map();
const amountsOf = (tree) => {
  if (!amounts.has(tree)) {
    const sums = {};
    for (const provider of tree[0]) {
      for (const { name: resource, used, fields } of inventories(provider)) {
        sums[resource] ??= [0, 0];
        sums[resource][0] += used;
        sums[resource][1] += fields[0];
      }
    }
    amounts.set(tree, sums);
  }
  return amounts.get(tree);
};
const describeLimits = (resource, [, total, reserved, ratio, least, most, step]) => [
  `total ${sized(resource, total)}`,
  reserved && `${sized(resource, reserved)} reserved`,
  ratio !== 1 && `ratio ${ratio}`,
  least > 1 && `at least ${sized(resource, least)} at once`,
  most < total && `at most ${sized(resource, most)} at once`,
  step > 1 && `in steps of ${sized(resource, step)}`,
].filter(Boolean).join(', ');
const classes = (provider) => table('Inventories', [
  ['Class'], ['Fill'], ['Used', 'number'], ['Capacity', 'number'], ['Made of'],
], inventories(provider).map(({ name: resource, used, fields }) => row(
  header(name(resource)),
  element('td', { role: 'cell', class: 'meter', 'data-label': 'Fill' }, bar(used, fields[0]),
    element('span', { class: `percent ${level(used, fields[0])}` }, percent(used, fields[0]))),
  size(resource, used, 'Used'), size(resource, fields[0], 'Capacity'),
  cell(describeLimits(resource, fields), 'Made of', 'muted'))));
const pairsOf = (values) => {
  const pairs = [];
  for (let at = 0; at < values.length; at += 2) pairs.push([values[at], values[at + 1]]);
  return pairs;
};
const resources = (pairs) => pairsOf(pairs)
  .map(([place, amount]) => `${text(place)} ${sized(text(place), amount)}`).join(', ');
const consumersOn = (provider) => pairsOf(provider[6])
  .map(([place, allocated]) => [records.consumers[place], allocated]);
// A server by its name, where it is known, with the UUID below.
const consumerName = ([uuid, , , server]) => [
  ...(server ? [element('strong', {}, name(server)), ' '] : []), element('code', {}, name(uuid)),
];
const consumers = (provider) => {
  const allocations = consumersOn(provider);
  if (!allocations.length) return [];
  const made = element('details', {}, element('summary', {}, plural(allocations.length, 'consumer')));
  const rows = table('Consumers', [['Server'], ['Holds'], ['Project'], ['Type']], []);
  const more = element('button', { type: 'button' }, 'More');
  let drawn = 0;
  const draw = () => {
    const part = allocations.slice(drawn, drawn + CONSUMERS);
    rows.tBodies[0].append(...part.map(([consumer, what]) => row(
      header(...consumerName(consumer)), cell(name(resources(what)), 'Holds'),
      cell(name(text(consumer[1])), 'Project'), cell(name(text(consumer[2])), 'Type'))));
    drawn += part.length;
    more.hidden = drawn === allocations.length;
  };
  more.addEventListener('click', draw);
  made.addEventListener('toggle', () => {
    if (!drawn) draw();
  });
  made.append(rows, more);
  return [made];
};
const sharing = (tree) => tree[1].map(([root, place]) => trees[root][0][place]);
// records.py, _record_tree: name, UUID, parent, inventories, traits, aggregates, consumers.
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
const others = (sums) => Object.entries(sums).filter(([resource]) => !records.columns.includes(resource));
const nameOf = (tree) => tree[0][0][0];
const inOrder = [...trees].sort((a, b) => compare(nameOf(a), nameOf(b)));
const findTree = listing('all-trees', inOrder, {
  page: 50,
  // The fill of one class, or of the fullest; -1 for a host without the class.
  fill: (tree, resource) => {
    const sums = amountsOf(tree);
    const fills = resource ? [sums[resource]].filter(Boolean) : Object.values(sums);
    return fills.reduce((most, [used, capacity]) => Math.max(most, share(used, capacity)),
      resource ? -1 : 0);
  },
  csv: {
    consumers: {
      headings: ['host', 'provider', 'consumer', 'name', 'project', 'type', 'class', 'amount'],
      rows: (tree) => tree[0].flatMap((provider) => consumersOn(provider).flatMap(
        ([[uuid, project, type, server], allocated]) => pairsOf(allocated).map(([place, amount]) =>
          [nameOf(tree), provider[0], uuid, server, text(project), text(type), text(place), amount]))),
    },
    hosts: {
      headings: ['host', 'provider', 'uuid', 'class', 'used', 'capacity', 'total', 'reserved', 'ratio'],
      rows: (tree) => tree[0].flatMap((provider) => inventories(provider).map(
        ({ name: resource, used, fields: [capacity, total, reserved, ratio] }) =>
          [nameOf(tree), provider[0], provider[1], resource, used, capacity, total, reserved, ratio])),
    },
  },
  cells: (tree) => {
    const sums = amountsOf(tree);
    const rest = others(sums).map(([resource, sum]) => `${resource} ${percent(...sum)}`).join(', ');
    const elsewhere = (resource) => {
      const by = sharing(tree).filter((provider) =>
        inventories(provider).some((inventory) => inventory.name === resource));
      return by.length ? element('span', { class: 'elsewhere' }, 'shared by ',
        name(by.map((provider) => provider[0]).join(', '))) : '';
    };
    return [
      header(name(nameOf(tree))),
      ...records.columns.map((resource) =>
        cell(sums[resource] ? fill(resource, ...sums[resource]) : elsewhere(resource), resource, 'meter')),
      ...(records.others.length ? [cell(name(rest), records.others[0], 'muted')] : []),
    ];
  },
  terms: ([providers]) => providers.flatMap((provider) => [
    provider[0], provider[1],
    ...consumersOn(provider).flatMap(([[uuid, , , server]]) => (server ? [uuid, server] : [uuid])),
    ...[provider[4], provider[5]].flatMap((set) => records.sets[set].map(text)),
  ]),
  open: openTree,
  orders: [
    nameOf,
    ...records.columns.map((resource) => (tree) => {
      const [used, capacity] = amountsOf(tree)[resource] ?? [-1, 1];
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
// As the terminal has it.
const fix = (command, reason) => {
  const { command: run, reason: none } = records.labels;
  return command ? element('span', {}, run, element('code', {}, name(command)))
    : element('span', {}, none, name(reason));
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
      cell(name(evidence), 'Evidence'), cell(fix(command, reason), 'Fix'),
    ];
  },
  terms: ([kind, check, subject, evidence]) =>
    [text(check), subject, text(kind), evidence, servers.get(subject) ?? ''],
});

// The plan

const side = (tree, after) => {
  const [, providers] = tree;
  const present = providers.filter((provider) => after || !provider[2]);
  const figuresOf = (provider, at) => [...inThrees(provider[at])];
  return nested(present, (provider) => present.indexOf(providers[provider[1]]), (provider) => {
    // records.py, _record_provider_change: name, parent, isNew, before, after, gained, lost.
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
const general = (named, warning) => text(warning).replaceAll(named, '');
const spread = new Map();
for (const [named, , , warnings] of plan) {
  for (const warning of warnings) {
    const key = general(named, warning);
    spread.set(key, (spread.get(key) ?? 0) + 1);
  }
}
const openPlanned = (tree) => {
  // records.py, _record_planned_tree: name, providers, rows, warnings.
  const [named, , rows, warnings] = tree;
  const local = warnings.filter((warning) => spread.get(general(named, warning)) === 1);
  const halves = [['Before', false], ['After', true]].map(([title, after]) =>
    element('div', {}, element('h4', {}, title), side(tree, after)));
  const who = rows.map(([consumer, amount, was, becomes, from, to, label, evidence]) => row(
    header(...consumerName(records.consumers[consumer])),
    cell(name(`${sized(text(was), amount)} ${text(was)}${was === becomes ? '' : ` as ${text(becomes)}`}`), 'Amount'),
    cell(name(text(from) || 'new'), 'From'), cell(name(text(to) || 'removed'), 'To'),
    cell(element('span', { class: `label ${text(label)}` }, text(label)), 'Why'),
    cell(name(text(evidence)), 'Evidence', 'muted')));
  return [
    element('div', { class: 'halves' }, ...halves),
    ...(who.length ? [element('h4', {}, 'The place of each server'), table('The place of each server',
      [['Server'], ['Amount'], ['From'], ['To'], ['Why'], ['Evidence']], who)] : []),
    ...(local.length ? [element('h4', {}, 'Warnings'), element('ul', { class: 'warnings' },
      ...local.map((warning) => element('li', {}, name(text(warning)))))] : []),
    ...(local.length < warnings.length ? [element('p', { class: 'note' },
      `${plural(warnings.length - local.length, 'warning')} for several hosts: see `,
      element('a', { href: '#warnings' }, 'Warnings'))] : []),
  ];
};
const labelled = (rows, label) => rows.filter((entry) => text(entry[6]) === label).length;
const created = (providers) => providers.filter((provider) => provider[2]).length;
const moved = (rows) => new Set(rows.map((entry) => entry[0])).size;
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
  terms: ([named, providers, rows]) => [
    named, ...providers.map((provider) => text(provider[0])),
    ...rows.flatMap(([place]) => [records.consumers[place][0], records.consumers[place][3]]),
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
