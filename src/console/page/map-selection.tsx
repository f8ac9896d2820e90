import type { Point } from '../../client/browser.js';
import { formatDistance } from '../model/format.js';
import { shorten } from '../model/input.js';
import { FailureNote } from './failure-note.js';
import { MetadataList } from './point-cells.js';
import type { Answer } from './use-answer.js';
import { hrefOfPoint } from './use-route.js';

/** A point, and what is nearest to it. */
export interface Around {
  readonly point: Point;
  readonly neighbours: readonly Point[];
}

interface MapSelectionProps {
  readonly id: string | undefined;
  readonly found: Answer<Around>;
  readonly similarity: string;
  readonly onSelect: (id: string) => void;
}

const CONTENT_LENGTH = 300;
const NEIGHBOUR_LENGTH = 70;

/** The point that is selected on a map, and its neighbours, which can be selected in turn. */
export function MapSelection({ id, found, similarity, onSelect }: MapSelectionProps) {
  const { value, error, isAsking } = found;
  return (
    <section class="card selection" aria-labelledby="selection" aria-busy={isAsking}>
      <h2 id="selection">Selected point</h2>
      {id === undefined && <p class="hint">None yet.</p>}
      {error !== undefined && <FailureNote error={error} />}
      {value !== undefined && (
        <>
          <div aria-live="polite">
            <p class="whole">{contentOf(value.point, CONTENT_LENGTH)}</p>
            <p>
              <a class="id" href={hrefOfPoint(value.point.id)}>
                {value.point.id}
              </a>
            </p>
          </div>
          <MetadataList point={value.point} />
          <h3>Neighbours under {similarity}</h3>
          <ol class="neighbours">
            {value.neighbours.map((point) => (
              <li key={point.id}>
                <button type="button" class="plain" onClick={() => onSelect(point.id)}>
                  <span class="number">{formatDistance(point.distance)}</span>
                  <span>{contentOf(point, NEIGHBOUR_LENGTH)}</span>
                </button>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function contentOf({ content = '', id }: Point, most: number): string {
  return content === '' ? id : shorten(content, most);
}
