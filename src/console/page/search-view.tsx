import { useState } from 'preact/hooks';
import { NotFoundError, type Client, type Point, type Query } from '../../client/browser.js';
import { formatCounted, formatLatency } from '../model/format.js';
import { parseFilter, parseQuestion } from '../model/input.js';
import { FailureNote } from './failure-note.js';
import {
  Checkbox,
  FilterField,
  NumberField,
  SimilaritySelect,
  type SimilarityProps,
} from './fields.js';
import { NeighbourTable } from './neighbour-table.js';
import { useAnswer } from './use-answer.js';
import { useSubmit } from './use-submit.js';

interface SearchViewProps extends SimilarityProps {
  readonly client: Client;
  readonly dimension: number;
}

/** A query, and what its owner calls the point in it. A new object asks the same one again. */
interface Asked {
  readonly query: Query;
  readonly own: string | undefined;
}

/** Finds the neighbours of a vector or of a point. */
export function SearchView({ client, ...props }: SearchViewProps) {
  const [asked, setAsked] = useState<Asked>();
  const ask = asked && (async (signal: AbortSignal) => await answer(client, asked, signal));
  const { value, error, isAsking } = useAnswer(ask, [asked]);
  return (
    <>
      <h1>Search</h1>
      <SearchForm {...props} onAsk={setAsked} />
      {error !== undefined && <FailureNote error={error} />}
      <section aria-label="Neighbours" aria-busy={isAsking}>
        <p role="status" class="hint">
          {isAsking && 'Searching…'}
          {!isAsking &&
            value !== undefined &&
            `${value.points.length} found in ${formatLatency(value.seconds)}, as this browser saw it`}
        </p>
        {value !== undefined && value.points.length > 0 && (
          <div class="card">
            <NeighbourTable
              points={value.points}
              caption={`Closest first under ${value.similarity}`}
            />
          </div>
        )}
      </section>
    </>
  );
}

interface Found {
  readonly points: readonly Point[];
  readonly similarity: Query['similarity'];
  readonly seconds: number;
}

async function answer(client: Client, { query, own }: Asked, signal: AbortSignal): Promise<Found> {
  const startedAtMs = performance.now();
  try {
    const points = await client.search(query, { signal });
    const seconds = (performance.now() - startedAtMs) / 1000;
    return { points, similarity: query.similarity, seconds };
  } catch (cause) {
    if (!(cause instanceof NotFoundError)) throw cause;
    const { requestId } = cause;
    const id = own === undefined ? query.like : `${JSON.stringify(own)} (${query.like})`;
    throw new NotFoundError(`There is no point with the id ${id}.`, { cause, requestId });
  }
}

interface SearchFormProps extends SimilarityProps {
  readonly dimension: number;
  /** Undefined takes the last question back. */
  readonly onAsk: (asked: Asked | undefined) => void;
}

function SearchForm({ dimension, similarity, onSimilarity, onAsk }: SearchFormProps) {
  const [text, setText] = useState('');
  const [limit, setLimit] = useState('10');
  const [ef, setEf] = useState('');
  const [isExact, setIsExact] = useState(false);
  const [filter, setFilter] = useState('');

  const { submit, error } = useSubmit(() => {
    onAsk(undefined);
    const { own, ...target } = { own: undefined, ...parseQuestion(text, dimension) };
    const query: Query = {
      ...target,
      similarity,
      limit: Number(limit),
      ...(ef === '' ? {} : { ef: Number(ef) }),
      exact: isExact,
      filter: parseFilter(filter),
      include: ['distance', 'content', 'contentType', 'metadata'],
    };
    onAsk({ query, own });
  });

  return (
    <form class="card row" onSubmit={submit} aria-label="Search">
      <label class="field whole-row">
        <span>
          Vector of {formatCounted(dimension, 'number')}, or the id of a point; an id of your own in
          quotes
        </span>
        <textarea
          class="code"
          rows={3}
          value={text}
          spellcheck={false}
          placeholder="[0.12, -0.03, …] or 9f3c1d52-6f0e-4c8e-9a51-0a4f5f1f6f0b"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <SimilaritySelect similarity={similarity} onSimilarity={onSimilarity} />
      <NumberField label="Limit" value={limit} least={1} onInput={setLimit} />
      <NumberField label="ef" value={ef} least={0} onInput={setEf} placeholder="default" />
      <FilterField value={filter} onInput={setFilter} />
      <Checkbox label="Exact" checked={isExact} onChange={setIsExact} />
      <button type="submit" class="primary">
        Search
      </button>
      {error !== undefined && <FailureNote error={error} />}
    </form>
  );
}
