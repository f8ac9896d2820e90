import { useMemo, useState } from 'preact/hooks';
import type { Client, Point } from '../../client/browser.js';
import { colouringBy, fieldsOf, type Colouring } from '../model/colouring.js';
import { formatCount, formatCounted, formatNumber } from '../model/format.js';
import { parseFilter } from '../model/input.js';
import { project } from '../model/pca.js';
import { FailureNote } from './failure-note.js';
import { FilterField, Select, SimilaritySelect, type SimilarityProps } from './fields.js';
import { MapCanvas } from './map-canvas.js';
import { MapSelection, type Around } from './map-selection.js';
import { MOST_LISTED, mostPoints, takeSample, type Sample, type Selection } from './sample.js';
import { useAnswer } from './use-answer.js';
import { useSubmit } from './use-submit.js';

interface MapViewProps extends SimilarityProps {
  readonly client: Client;
  readonly dimension: number;
}

const NEIGHBOURS = 10;

/** Some points as a picture, and the neighbours of one of them. */
export function MapView({ client, dimension, ...similarity }: MapViewProps) {
  const [selection, setSelection] = useState<Selection>({ order: 'newest', filter: undefined });
  const { value, error, isAsking } = useAnswer(
    async (signal) => await takeSample(client, mostPoints(dimension), selection, signal),
    [selection],
  );
  return (
    <>
      <h1>Map</h1>
      <SampleForm onDraw={setSelection} />
      {error !== undefined && <FailureNote error={error} />}
      <p role="status" class="hint">
        {isAsking && 'Reading points…'}
        {!isAsking && value !== undefined && describe(value)}
      </p>
      {value !== undefined && value.points.length > 0 && (
        <Picture client={client} sample={value} {...similarity} />
      )}
    </>
  );
}

function describe(sample: Sample): string {
  const { points, listed, total, order, filter, projection } = sample;
  if (points.length === 0) return 'There are no such points.';
  const all = `${formatCounted(total, 'point')}${filter === undefined ? '' : ' passing the filter'}`;
  const from = listed < total ? `the ${order} ${formatCount(listed)} of ${all}` : all;
  const which = points.length < listed ? `A random ${formatCount(points.length)} of ${from}` : from;
  return (
    `${which} in the plane in which they differ most: it shows ` +
    `${formatNumber(projection.share * 100)} % of their variance.`
  );
}

interface SampleFormProps {
  readonly onDraw: (selection: Selection) => void;
}

function SampleForm({ onDraw }: SampleFormProps) {
  const [order, setOrder] = useState<Selection['order']>('newest');
  const [filter, setFilter] = useState('');
  const { submit, error } = useSubmit(() => {
    onDraw({ order, filter: parseFilter(filter) });
  });
  return (
    <form class="card row" onSubmit={submit} aria-label="Which points are drawn">
      <FilterField value={filter} onInput={setFilter} />
      <Select
        label="Drawn from"
        value={order}
        options={[
          ['newest', `The newest ${formatCount(MOST_LISTED)}`],
          ['oldest', `The oldest ${formatCount(MOST_LISTED)}`],
        ]}
        onChange={setOrder}
      />
      <button type="submit" class="primary">
        Draw
      </button>
      {error !== undefined && <FailureNote error={error} />}
    </form>
  );
}

interface PictureProps extends SimilarityProps {
  readonly client: Client;
  readonly sample: Sample;
}

/** The picture, with the point that is selected beside it. */
function Picture({ client, sample, similarity, onSimilarity }: PictureProps) {
  const [selected, setSelected] = useState<string>();
  const [chosenField, setField] = useState('');
  const { points, positions, projection } = sample;
  const metadata = useMemo(() => points.map((point) => point.metadata), [sample]);
  const fields = useMemo(() => fieldsOf(metadata), [metadata]);
  const field = fields.includes(chosenField) ? chosenField : '';
  const colouring = useMemo(
    () => (field === '' ? undefined : colouringBy(metadata, field)),
    [metadata, field],
  );
  const ask = async (signal: AbortSignal) =>
    await around(client, selected ?? '', similarity, signal);
  const found = useAnswer(selected === undefined ? undefined : ask, [selected, similarity]);
  const isFound = found.value?.point.id === selected;
  const place = ({ vector }: Point) => project(projection, vector ?? new Float32Array());
  const neighbours = useMemo(
    () => (isFound ? (found.value?.neighbours ?? []).map(place) : []),
    [found.value, isFound],
  );
  const at = points.findIndex(({ id }) => id === selected);
  const selectedPosition =
    positions[at] ?? (isFound && found.value ? place(found.value.point) : undefined);

  return (
    <div class="map-columns">
      <div class="card">
        <div class="row">
          <SimilaritySelect similarity={similarity} onSimilarity={onSimilarity} />
          <Select
            label="Colour by"
            value={field}
            options={[['', 'nothing'], ...fields.map((one) => [one, one] as const)]}
            onChange={setField}
          />
        </div>
        {colouring !== undefined && <Legend colouring={colouring} />}
        <MapCanvas
          positions={positions}
          groupOf={colouring?.groupOf}
          selected={selectedPosition}
          neighbours={neighbours}
          onSelect={(number) => setSelected(number === undefined ? undefined : points[number]?.id)}
        />
        <p id="map-keys" class="hint">
          Click on a point, or use the arrow keys to go from one to the next, Home for the middle
          and Escape for none.
        </p>
      </div>
      <MapSelection found={found} id={selected} similarity={similarity} onSelect={setSelected} />
    </div>
  );
}

/** A point and its neighbours, all with their vectors: not all of them are in the sample. */
async function around(
  client: Client,
  id: string,
  similarity: SimilarityProps['similarity'],
  signal: AbortSignal,
): Promise<Around> {
  const include = ['vector', 'content', 'contentType', 'metadata'] as const;
  const query = { like: id, similarity, limit: NEIGHBOURS } as const;
  const [got, neighbours] = await Promise.all([
    client.get([id], { include, signal }),
    client.search({ ...query, include: ['distance', ...include] }, { signal }),
  ]);
  const [point] = got.points;
  if (point === undefined) throw new Error(`point ${id} has been deleted meanwhile`);
  return { point, neighbours };
}

function Legend({ colouring: { groups } }: { readonly colouring: Colouring }) {
  return (
    <ul class="legend">
      {groups.map(({ label, count }, at) => (
        <li key={label} class={`key s${at}`}>
          {label} <span class="hint">{formatCount(count)}</span>
        </li>
      ))}
    </ul>
  );
}
