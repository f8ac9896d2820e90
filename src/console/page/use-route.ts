import { useEffect, useState } from 'preact/hooks';

export type Place = 'overview' | 'points' | 'search' | 'map';

/** What the page shows: one of its places, or a point. */
export type Route = { readonly place: Place } | { readonly pointId: string };

/** The places in the order of the navigation, with their names. */
export const PLACES: readonly (readonly [Place, string])[] = [
  ['overview', 'Overview'],
  ['points', 'Points'],
  ['search', 'Search'],
  ['map', 'Map'],
];

/** The part of the address behind `#`, which browsers do not send: a change of it loads nothing. */
export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const update = (): void => setRoute(currentRoute());
    window.addEventListener('hashchange', update);
    return () => window.removeEventListener('hashchange', update);
  }, []);
  return route;
}

export function hrefOfPoint(id: string): string {
  return `#/points/${id}`;
}

function currentRoute(): Route {
  const [, place, pointId] = window.location.hash.split('/');
  if (place === 'points' && pointId !== undefined) return { pointId };
  return { place: PLACES.find(([known]) => known === place)?.[0] ?? 'overview' };
}
