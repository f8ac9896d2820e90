import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { formatCounted } from '../model/format.js';
import { nearestTo, nextTowards, type Direction, type Position } from '../model/positions.js';
import { draw, fitting, type Size } from './map-drawing.js';

interface MapCanvasProps {
  /** In the coordinates of the projection, as are all others. */
  readonly positions: readonly Position[];
  readonly groupOf: readonly number[] | undefined;
  readonly selected: Position | undefined;
  readonly neighbours: readonly Position[];
  /** Hears of the number of the point that was chosen; undefined for none. */
  readonly onSelect: (at: number | undefined) => void;
}

/** How far beside a point a click still means it. */
const REACH_PX = 14;

const DIRECTIONS: ReadonlyMap<string, Direction> = new Map([
  ['ArrowLeft', 'left'],
  ['ArrowRight', 'right'],
  ['ArrowUp', 'up'],
  ['ArrowDown', 'down'],
]);

/** Points as a picture, in which one is chosen by a click or by the arrow keys. */
export function MapCanvas(props: MapCanvasProps) {
  const { positions, groupOf, selected, neighbours, onSelect } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(canvas);
  const isDark = useIsDark();
  const fit = useMemo(() => fitting(positions, size), [positions, size]);
  const places = useMemo(() => positions.map(fit), [positions, fit]);
  const place = selected && fit(selected);

  useEffect(() => {
    if (canvas.current === null || size.width === 0) return;
    const shown = neighbours.map(fit);
    draw(canvas.current, size, { positions: places, groupOf, selected: place, neighbours: shown });
  }, [places, groupOf, selected, neighbours, size, isDark]);

  const click = ({ offsetX, offsetY }: MouseEvent): void =>
    onSelect(nearestTo(places, [offsetX, offsetY], REACH_PX));

  const press = (event: KeyboardEvent): void => {
    const direction = DIRECTIONS.get(event.key);
    if (event.key === 'Escape') onSelect(undefined);
    else if (event.key === 'Home') onSelect(nearestTo(places, [size.width / 2, size.height / 2]));
    else if (direction !== undefined) {
      const from = nearestTo(places, place ?? [size.width / 2, size.height / 2]);
      const next =
        from !== undefined && place !== undefined ? nextTowards(places, from, direction) : from;
      if (next !== undefined) onSelect(next);
    } else return;
    event.preventDefault();
  };

  return (
    <canvas
      ref={canvas}
      class="map"
      tabIndex={0}
      role="application"
      aria-label={`Map of ${formatCounted(positions.length, 'point')}`}
      aria-describedby="map-keys"
      onClick={click}
      onKeyDown={press}
    />
  );
}

const NO_SIZE: Size = { width: 0, height: 0 };

function useSize(element: RefObject<HTMLCanvasElement | null>): Size {
  const [size, setSize] = useState(NO_SIZE);
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      // A place that is hidden has no size, and keeps its picture.
      if (width > 0) setSize({ width, height });
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return size;
}

/** Whether the reader prefers dark pages: a picture does not change its colours by itself. */
function useIsDark(): boolean {
  const query = useMemo(() => window.matchMedia('(prefers-color-scheme: dark)'), []);
  const [isDark, setIsDark] = useState(query.matches);
  useEffect(() => {
    const update = (): void => setIsDark(query.matches);
    query.addEventListener('change', update);
    return () => query.removeEventListener('change', update);
  }, [query]);
  return isDark;
}
