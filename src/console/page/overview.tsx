import type { Graph, Info, Limits } from '../../client/browser.js';
import { formatBytes, formatCount, formatCounted, formatDuration } from '../model/format.js';
import { Charts } from './charts.js';
import { FailureNote } from './failure-note.js';
import type { Live } from './use-live.js';

/** What the service is and holds, how it is, and what it has to do. */
export function Overview({ live }: { readonly live: Live }) {
  const { info, history, faults, error } = live;
  return (
    <>
      <h1>Overview</h1>
      {error !== undefined && <FailureNote error={error} />}
      {faults !== undefined && faults.length > 0 && <Faults faults={faults} />}
      <Facts live={live} />
      <Charts history={history} />
      <div class="columns">
        <Graphs info={info} />
        <FilterIndex info={info} />
        <LimitList limits={info.limits} />
      </div>
    </>
  );
}

function Faults({ faults }: { readonly faults: readonly string[] }) {
  return (
    <div class="failure" role="alert">
      <strong>The service is not ready</strong>
      <ul>
        {faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </div>
  );
}

function Facts({ live: { info, history, faults } }: { readonly live: Live }) {
  const latest = history.at(-1);
  const uptimeS = latest && latest.atMs / 1000 - latest.startedAtS;
  const readiness = faults === undefined ? '–' : faults.length === 0 ? 'Ready' : 'Not ready';
  const facts: readonly (readonly [name: string, value: string, more: string])[] = [
    ['State', readiness, uptimeS === undefined ? '' : `up ${formatDuration(uptimeS)}`],
    ['Version', info.version, 'of vectord'],
    ['Points', formatCount(info.points), `of ${formatCounted(info.dimension, 'dimension')}`],
    ['Memory', formatBytes(latest?.memoryBytes), 'mapped files included'],
    ['Disk', formatBytes(info.bytes ?? undefined), `${formatBytes(latest?.availableBytes)} free`],
    ['Connections', formatCount(latest?.connections), 'on both interfaces'],
  ];
  return (
    <dl class="facts">
      {facts.map(([name, value, more]) => (
        <div class="card" key={name}>
          <dt>{name}</dt>
          <dd>
            <span class="big">{value}</span>
            <span class="hint">{more}</span>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Graphs({ info: { graphs } }: { readonly info: Info }) {
  return (
    <section class="card" aria-labelledby="graphs">
      <h2 id="graphs">Graphs</h2>
      {graphs.length === 0 ? (
        <p class="hint">
          None yet. The first search under a similarity that is cheaper as a walk begins its graph;
          until then scans answer.
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Similarity</th>
              <th scope="col">State</th>
              <th scope="col">Linked</th>
              <th scope="col">Memory</th>
            </tr>
          </thead>
          <tbody>
            {graphs.map((graph) => (
              <GraphRow key={graph.similarity} {...graph} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function GraphRow({ similarity, state, linked, slots, bytes, idleSeconds }: Graph) {
  const text = `${formatCount(linked)} of ${formatCount(slots)}`;
  return (
    <tr>
      <th scope="row">{similarity}</th>
      <td>{state}</td>
      <td>
        <progress max={Math.max(1, slots)} value={linked} aria-label={`${similarity}: ${text}`} />
        <span class="hint">{text}</span>
      </td>
      <td>
        {formatBytes(bytes)}
        <div class="hint">idle for {formatDuration(idleSeconds)}</div>
      </td>
    </tr>
  );
}

function FilterIndex({ info: { filterIndex } }: { readonly info: Info }) {
  return (
    <section class="card" aria-labelledby="filter-index">
      <h2 id="filter-index">Filter index</h2>
      {filterIndex.length === 0 ? (
        <p class="hint">No field of the metadata has been filtered by yet.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">State</th>
              <th scope="col" class="number">
                Memory
              </th>
            </tr>
          </thead>
          <tbody>
            {filterIndex.map(({ field, state, bytes }) => (
              <tr key={field}>
                <th scope="row">
                  <code>{field}</code>
                </th>
                <td>{state}</td>
                <td class="number">{formatBytes(bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function LimitList({ limits }: { readonly limits: Limits }) {
  const rows: readonly (readonly [string, string])[] = [
    ['Bytes of a request', formatBytes(limits.maxRequestBytes)],
    ['Items of a batch', formatCount(limits.maxBatch)],
    ['Bytes of a content', formatBytes(limits.maxContentBytes)],
    ['Candidates of a batch search', formatCount(limits.maxSearchWork)],
    ['Bytes in flight', formatBytes(limits.maxInflightBytes)],
    ['Bytes of the filter index', formatBytes(limits.maxFilterIndexBytes)],
  ];
  return (
    <section class="card" aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <table>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
