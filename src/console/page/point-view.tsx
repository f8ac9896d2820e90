import { useState } from 'preact/hooks';
import type { Client } from '../../client/browser.js';
import { FailureNote } from './failure-note.js';
import { NumberField, SimilaritySelect, type SimilarityProps } from './fields.js';
import { NeighbourTable } from './neighbour-table.js';
import { MetadataList } from './point-cells.js';
import { useAnswer } from './use-answer.js';

const DEFAULT_LIMIT = '10';

interface PointViewProps extends SimilarityProps {
  readonly client: Client;
  readonly id: string;
}

/** One point with all that it carries, and its neighbours. */
export function PointView({ client, id, ...similarity }: PointViewProps) {
  const { value, error } = useAnswer(async (signal) => await client.get([id], { signal }), []);
  const point = value?.points[0];
  return (
    <div class="place">
      <h1>Point</h1>
      <p>
        <code>{id}</code>
      </p>
      {error !== undefined && <FailureNote error={error} />}
      {value !== undefined && point === undefined && (
        <p class="failure" role="alert">
          There is no point of this id. It may have been deleted.
        </p>
      )}
      {point !== undefined && (
        <>
          <div class="card">
            <h2>Content{point.contentType === 'Image' && <span class="badge">Image</span>}</h2>
            <p class="whole">{point.content}</p>
            <h2>Metadata</h2>
            {point.metadata ? <MetadataList point={point} /> : <p class="hint">none</p>}
            <Vector client={client} id={id} />
          </div>
          <Neighbours client={client} id={id} {...similarity} />
        </>
      )}
    </div>
  );
}

/** The vector, which may be long, when it is asked for. */
function Vector({ client, id }: Pick<PointViewProps, 'client' | 'id'>) {
  const [isShown, setIsShown] = useState(false);
  const ask = async (signal: AbortSignal) =>
    await client.get([id], { include: ['vector'], signal });
  const { value, error } = useAnswer(isShown ? ask : undefined, [isShown]);
  const vector = value?.points[0]?.vector;
  return (
    <>
      <h2>Vector</h2>
      <button type="button" aria-expanded={isShown} onClick={() => setIsShown(!isShown)}>
        {isShown ? 'Hide the vector' : 'Show the vector'}
      </button>
      {error !== undefined && <FailureNote error={error} />}
      {vector !== undefined && (
        <textarea class="code" aria-label="Vector as JSON" readOnly rows={6}>
          {JSON.stringify(Array.from(vector))}
        </textarea>
      )}
    </>
  );
}

function Neighbours({ client, id, similarity, onSimilarity }: PointViewProps) {
  const [limit, setLimit] = useState(DEFAULT_LIMIT);
  const include = ['distance', 'content', 'contentType', 'metadata'] as const;
  const { value, error, isAsking } = useAnswer(
    async (signal) =>
      await client.search(
        { like: id, similarity, limit: Number(limit || DEFAULT_LIMIT), include },
        { signal },
      ),
    [similarity, limit],
  );
  return (
    <section class="card" aria-labelledby="neighbours" aria-busy={isAsking}>
      <h2 id="neighbours">Neighbours</h2>
      <div class="row">
        <SimilaritySelect similarity={similarity} onSimilarity={onSimilarity} />
        <NumberField label="Limit" value={limit} least={1} onInput={setLimit} />
      </div>
      {error !== undefined && <FailureNote error={error} />}
      {value !== undefined && (
        <NeighbourTable points={value} caption={`Closest first under ${similarity}`} />
      )}
    </section>
  );
}
