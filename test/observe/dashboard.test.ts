import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parser } from '@prometheus-io/lezer-promql';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { RawClient } from '../grpc/client.js';
import { Client } from '../http/client.js';
import { HAS_NO_NATS, TestCluster } from '../support/cluster.js';
import { startServer, type TestServer } from '../support/server.js';
import * as wire from '../support/wire.js';
import { Scrape } from './exposition.js';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));

/** What Prometheus adds to each sample, and makes itself. */
const OF_PROMETHEUS = new Set(['instance', 'job']);
const ITS_METRICS = new Set(['up']);

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
  readonly datasource?: unknown;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const dashboard = JSON.parse(readFileSync(`${DOCS}grafana-dashboard.json`, 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string }[];
  };
};
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const alerts = parse(readFileSync(`${DOCS}prometheus-alerts.yml`, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = alerts.groups.flatMap((group) => group.rules);

/** What only a node of a cluster has. */
const OF_CLUSTER = /vectord_cluster_/;

/** Those of a cluster are left out where there can be none. */
function isTested({ expr }: { readonly expr: string }): boolean {
  return !HAS_NO_NATS || !OF_CLUSTER.test(expr);
}

let scrape: Scrape;

/** A service that has been asked something on each interface, and has a graph. */
beforeAll(async () => {
  const env = { WARM_METRICS: 'cosine' };
  const server = HAS_NO_NATS ? await startServer({ env }) : await startNode(env);
  const client = new Client(server, server.keys.readwrite);
  await client.insert([1, 2, 3, 4]);
  const caller = new RawClient(server.grpc, server.keys.readwrite);
  const answer = await caller.call('SearchPoints', wire.searchRequest([1, 2, 3, 4], 1));
  expect(answer.code).toBe(status.OK);
  caller.close();
  await vi.waitFor(async () => {
    scrape = new Scrape((await client.get('/metrics')).text);
    // It looks at the stream in the background.
    if (HAS_NO_NATS) return;
    expect(scrape.value('vectord_cluster_stream_bytes', { shard: '0' })).toBeGreaterThan(0);
  }, 20_000);
});

/** A node of a cluster has all metrics that there are. */
async function startNode(env: Readonly<Record<string, string>>): Promise<TestServer> {
  const cluster = await TestCluster.start(env, { nodes: 1, servers: 1 });
  afterAll(async () => await cluster.end());
  return cluster.nodes[0] as TestServer;
}

/** What an expression asks for: each name with the values of its labels, and all labels. */
interface Asked {
  readonly selectors: { readonly name: string; readonly equal: Map<string, string> }[];
  readonly labels: Set<string>;
}

/** Throws where Prometheus could not parse it. */
function read(expression: string): Asked {
  const selectors: Asked['selectors'] = [];
  const labels = new Set<string>();
  let label = '';
  let operator = '';
  parser.parse(expression).iterate({
    enter({ name, type, from, to }) {
      const found = expression.slice(from, to);
      if (type.isError) throw new Error(`at ${from} of ${expression}`);
      if (name === 'Identifier') selectors.push({ name: found, equal: new Map() });
      if (name === 'LabelName') labels.add((label = found));
      if (name === 'MatchOp') operator = found;
      if (name === 'StringLiteral' && operator === '=') {
        selectors.at(-1)?.equal.set(label, found.slice(1, -1));
      }
    },
  });
  return { selectors, labels };
}

/** Everything in an expression that /metrics does not have. */
function missing({ selectors, labels }: Asked, legend = ''): string[] {
  const known = new Set(OF_PROMETHEUS);
  const faults: string[] = [];
  for (const { name, equal } of selectors) {
    if (ITS_METRICS.has(name)) continue;
    if (!scrape.has(name)) faults.push(name);
    const samples = scrape.samples.filter((sample) => sample.name === name);
    for (const sample of samples) for (const label of Object.keys(sample.labels)) known.add(label);
    for (const [label, value] of equal) {
      if (!samples.some((sample) => sample.labels[label] === value))
        faults.push(`${name} ${value}`);
    }
  }
  // These have no samples unless something goes wrong; the log has their labels.
  const rare = selectors.some(({ name }) => /_(?:closed|malformed)_total$/.test(name));
  const used = [
    ...labels,
    ...Array.from(legend.matchAll(/\{\{(\w+)\}\}/g), ([, name = '']) => name),
  ];
  if (!rare) faults.push(...used.filter((label) => !known.has(label)));
  return faults;
}

describe('the dashboard', () => {
  const targets = panels.flatMap(({ title, targets: all = [] }) =>
    all.map((target) => ({ title, ...target })),
  );

  test.each(targets.filter(isTested))('$title: $expr', ({ expr, legendFormat }) => {
    const asked = read(plain(expr));
    expect(asked.selectors).not.toEqual([]);
    expect(missing(asked, legendFormat)).toEqual([]);
  });

  test('is for any data source and any service, and no panel hides another', () => {
    const variables = dashboard.templating.list.map(({ name, type }) => [name, type]);
    expect(variables).toEqual([
      ['datasource', 'datasource'],
      ['instance', 'query'],
    ]);
    for (const { datasource } of panels) {
      expect(datasource).toEqual({ type: 'prometheus', uid: '${datasource}' });
    }
    for (const { expr } of targets) expect(expr).toContain('instance=~"$instance"');
    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(panels.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  test('shows every metric', () => {
    const shown = new Set(targets.flatMap(({ expr }) => read(plain(expr)).selectors.map(nameOf)));
    expect(scrape.families.filter((family) => !shown.has(family))).toEqual([]);
  });
});

test('a single server has no metrics of a cluster', async () => {
  const server = await startServer();
  const client = new Client(server, server.keys.readonly);
  const { families } = new Scrape((await client.get('/metrics')).text);
  expect(families.filter((family) => OF_CLUSTER.test(family))).toEqual([]);
});

describe('the alerts', () => {
  test.each(rules.filter(isTested))('$alert', ({ expr, annotations }) => {
    const texts = Object.values(annotations).join(' ');
    const legend = texts.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '{{$1}}');
    expect(missing(read(expr), legend)).toEqual([]);
    expect(annotations['summary']).not.toBe('');
  });
});

/** With a value for the variable that Grafana fills in. */
function plain(expression: string): string {
  return expression.replaceAll('$__rate_interval', '5m');
}

/** The name of the metric, without what its histogram adds. */
function nameOf({ name }: { readonly name: string }): string {
  return name.replace(/_(?:bucket|sum|count)$/, '');
}
