import type { Point } from '../../client/browser.js';
import { shorten } from '../model/input.js';
import { hrefOfPoint } from './use-route.js';

/** How much of a content a table shows; the page of the point has all of it. */
const CONTENT_LENGTH = 240;

/** How many numbers of a vector a table shows. */
const VECTOR_LENGTH = 6;

interface PointProps {
  readonly point: Point;
}

export function IdCell({ id }: { readonly id: string }) {
  return (
    <th scope="row">
      <a class="id" href={hrefOfPoint(id)}>
        {id}
      </a>
    </th>
  );
}

export function ContentCell({ point: { content = '', contentType } }: PointProps) {
  return (
    <td class="content">
      {contentType === 'Image' && <span class="badge">Image</span>}
      {content === '' ? <span class="hint">empty</span> : shorten(content, CONTENT_LENGTH)}
    </td>
  );
}

export function MetadataCell({ point }: PointProps) {
  return (
    <td class="metadata">
      <MetadataList point={point} />
    </td>
  );
}

export function MetadataList({ point: { metadata } }: PointProps) {
  return (
    <dl class="pairs">
      {Object.entries(metadata ?? {}).map(([key, value]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function VectorCell({ point: { vector } }: PointProps) {
  const numbers = Array.from(vector ?? []);
  const start = numbers.slice(0, VECTOR_LENGTH).map((value) => Number(value.toPrecision(4)));
  const rest = numbers.length > VECTOR_LENGTH ? ', …' : '';
  return <td class="vector">{`[${start.join(', ')}${rest}]`}</td>;
}
