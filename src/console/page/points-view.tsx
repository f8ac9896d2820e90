import { useState } from 'preact/hooks';
import type { Client, Filter, Order, Part, Point } from '../../client/browser.js';
import { formatCount } from '../model/format.js';
import { parseFilter } from '../model/input.js';
import { FailureNote } from './failure-note.js';
import { Checkbox, FilterField, Select } from './fields.js';
import { ContentCell, IdCell, MetadataCell, VectorCell } from './point-cells.js';
import { useAnswer } from './use-answer.js';
import { useSubmit } from './use-submit.js';

const PAGE_SIZES = ['20', '50', '100', '200'] as const;

type PageSize = (typeof PAGE_SIZES)[number];

/** Which points are listed. */
interface Asked {
  readonly filter: Filter | undefined;
  readonly order: Order;
  readonly pageSize: PageSize;
  readonly hasVectors: boolean;
}

const ALL: Asked = { filter: undefined, order: 'newest', pageSize: '50', hasVectors: false };

/** All points, a page at a time. */
export function PointsView({ client }: { readonly client: Client }) {
  const [asked, setAsked] = useState(ALL);
  return (
    <>
      <h1>Points</h1>
      <AskForm onAsk={setAsked} />
      <Pages key={JSON.stringify(asked)} client={client} asked={asked} />
    </>
  );
}

function AskForm({ onAsk }: { readonly onAsk: (asked: Asked) => void }) {
  const [filter, setFilter] = useState('');
  const [order, setOrder] = useState(ALL.order);
  const [pageSize, setPageSize] = useState(ALL.pageSize);
  const [hasVectors, setHasVectors] = useState(ALL.hasVectors);

  const { submit, error } = useSubmit(() => {
    onAsk({ filter: parseFilter(filter), order, pageSize, hasVectors });
  });

  return (
    <form class="card row" onSubmit={submit} aria-label="Which points are listed">
      <FilterField value={filter} onInput={setFilter} />
      <Select
        label="Order"
        value={order}
        options={[
          ['newest', 'Newest first'],
          ['oldest', 'Oldest first'],
        ]}
        onChange={setOrder}
      />
      <Select
        label="Points a page"
        value={pageSize}
        options={PAGE_SIZES.map((size) => [size, size] as const)}
        onChange={setPageSize}
      />
      <Checkbox label="Vectors" checked={hasVectors} onChange={setHasVectors} />
      <button type="submit" class="primary">
        List
      </button>
      {error !== undefined && <FailureNote error={error} />}
    </form>
  );
}

interface PagesProps {
  readonly client: Client;
  readonly asked: Asked;
}

function Pages({ client, asked }: PagesProps) {
  /** What each page so far comes after. */
  const [starts, setStarts] = useState<readonly (string | undefined)[]>([undefined]);
  const { filter, order, pageSize, hasVectors } = asked;
  const parts: readonly Part[] = ['content', 'contentType', 'metadata'];
  const include: readonly Part[] = hasVectors ? [...parts, 'vector'] : parts;
  const limit = Number(pageSize);
  const after = starts.at(-1);
  const page = useAnswer(
    async (signal) => await client.scrollPage({ filter, order, limit, after, include, signal }),
    [after],
  );
  const count = useAnswer(async (signal) => await client.count({ filter, signal }), []);
  const next = page.value?.next ?? undefined;
  const error = page.error ?? count.error;

  return (
    <section class="card" aria-label="Points" aria-busy={page.isAsking}>
      {error !== undefined && <FailureNote error={error} />}
      <div class="row between">
        <p role="status">
          {count.value !== undefined && (
            <>
              <strong>{formatCount(count.value)}</strong>
              {count.value === 1 ? ' point' : ' points'}
              {filter !== undefined &&
                (count.value === 1 ? ' passes the filter' : ' pass the filter')}
            </>
          )}
        </p>
        <nav class="row" aria-label="Pages">
          <button
            type="button"
            disabled={starts.length === 1 || page.isAsking}
            onClick={() => setStarts(starts.slice(0, -1))}
          >
            Previous
          </button>
          <span aria-live="polite">Page {starts.length}</span>
          <button
            type="button"
            disabled={next === undefined || page.isAsking}
            onClick={() => setStarts([...starts, next])}
          >
            Next
          </button>
        </nav>
      </div>
      {page.value !== undefined && (
        <PointTable points={page.value.points} hasVectors={hasVectors} />
      )}
    </section>
  );
}

interface PointTableProps {
  readonly points: readonly Point[];
  readonly hasVectors: boolean;
}

function PointTable({ points, hasVectors }: PointTableProps) {
  if (points.length === 0) return <p class="empty">There are no such points.</p>;
  return (
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Id</th>
            <th scope="col">Content</th>
            <th scope="col">Metadata</th>
            {hasVectors && <th scope="col">Vector</th>}
          </tr>
        </thead>
        <tbody>
          {points.map((point) => (
            <tr key={point.id}>
              <IdCell id={point.id} />
              <ContentCell point={point} />
              <MetadataCell point={point} />
              {hasVectors && <VectorCell point={point} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
