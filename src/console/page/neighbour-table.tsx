import type { Point } from '../../client/browser.js';
import { formatDistance } from '../model/format.js';
import { ContentCell, IdCell, MetadataCell } from './point-cells.js';

interface NeighbourTableProps {
  readonly points: readonly Point[];
  readonly caption: string;
}

/** What a search has found, closest first. */
export function NeighbourTable({ points, caption }: NeighbourTableProps) {
  return (
    <div class="scroll">
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Rank
            </th>
            <th scope="col" class="number">
              Distance
            </th>
            <th scope="col">Content</th>
            <th scope="col">Metadata</th>
            <th scope="col">Id</th>
          </tr>
        </thead>
        <tbody>
          {points.map((point, at) => (
            <tr key={point.id}>
              <td class="number">{at + 1}</td>
              <td class="number">{formatDistance(point.distance)}</td>
              <ContentCell point={point} />
              <MetadataCell point={point} />
              <IdCell id={point.id} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
