import { useMemo, useState } from 'preact/hooks';
import { formatBytes, formatCount, formatLatency, formatNumber } from '../model/format.js';
import { latencies, rates, summarize, totalOf, type OperationSummary } from '../model/history.js';
import type { Snapshot } from '../model/snapshot.js';
import { Chart } from './chart.js';

/** What the service did in the last ten minutes, as far as this page has been open. */
export function Charts({ history }: { readonly history: readonly Snapshot[] }) {
  const operations = useMemo(() => summarize(history), [history]);
  const times = history.map(({ atMs }) => atMs);
  const each = (read: (of: Snapshot) => number | undefined) => history.map(read);
  const rate = (read: (of: Snapshot) => number) => rates(history, read);
  return (
    <>
      <div class="charts">
        <Chart
          title="Requests a second"
          times={times}
          format={formatNumber}
          lines={[
            { label: 'All', values: rate((of) => totalOf(of, 'requests')) },
            { label: 'Failed', values: rate((of) => totalOf(of, 'failed')) },
          ]}
        />
        <LatencyChart history={history} operations={operations} times={times} />
        <Chart
          title="Points"
          times={times}
          format={formatCount}
          lines={[{ label: 'Points', values: each((of) => of.points) }]}
        />
        <Chart
          title="Commits a second"
          times={times}
          format={formatNumber}
          lines={[
            { label: 'Records', values: rate((of) => of.commitRecords) },
            { label: 'Commits', values: rate((of) => of.commits) },
          ]}
        />
        <Chart
          title="Memory"
          times={times}
          format={formatBytes}
          base={1024}
          lines={[{ label: 'Resident', values: each((of) => of.memoryBytes) }]}
        />
        <Chart
          title="Disk"
          times={times}
          format={formatBytes}
          base={1024}
          lines={[{ label: 'Data folder', values: each((of) => of.dataBytes) }]}
        />
      </div>
      <OperationTable operations={operations} />
    </>
  );
}

interface LatencyProps {
  readonly history: readonly Snapshot[];
  readonly operations: readonly OperationSummary[];
  readonly times: readonly number[];
}

/** The latencies of one operation: the most frequent one, until another is chosen. */
function LatencyChart({ history, operations, times }: LatencyProps) {
  const [chosen, setChosen] = useState<string>();
  const names = operations.map(({ name }) => name);
  const name = chosen !== undefined && names.includes(chosen) ? chosen : (names[0] ?? '');
  return (
    <Chart
      title="Latency"
      times={times}
      format={formatLatency}
      lines={[
        { label: 'p50', values: latencies(history, name, 0.5) },
        { label: 'p99', values: latencies(history, name, 0.99) },
      ]}
    >
      <select
        aria-label="Operation whose latency is shown"
        value={name}
        disabled={names.length === 0}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
      >
        {names.length === 0 && <option value="">no request yet</option>}
        {names.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </Chart>
  );
}

function OperationTable({ operations }: { readonly operations: readonly OperationSummary[] }) {
  return (
    <section class="card" aria-labelledby="operations">
      <h2 id="operations">Operations</h2>
      <p class="hint">
        Of the last ten minutes, since this page was opened. What it asks for by itself is left out:
        metrics, readiness and info.
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col" class="number">
                Requests/s
              </th>
              <th scope="col" class="number">
                Failed/s
              </th>
              <th scope="col" class="number">
                p50
              </th>
              <th scope="col" class="number">
                p99
              </th>
            </tr>
          </thead>
          <tbody>
            {operations.map(({ name, perSecond, failedPerSecond, p50, p99 }) => (
              <tr key={name}>
                <th scope="row">
                  <code>{name}</code>
                </th>
                <td class="number">{formatNumber(perSecond)}</td>
                <td class="number">{formatNumber(failedPerSecond)}</td>
                <td class="number">{formatLatency(p50)}</td>
                <td class="number">{formatLatency(p99)}</td>
              </tr>
            ))}
            {operations.length === 0 && (
              <tr>
                <td colSpan={5}>No request has come yet.</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}
