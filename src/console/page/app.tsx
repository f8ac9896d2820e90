import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Similarity } from '../../client/browser.js';
import { Header } from './header.js';
import { MapView } from './map-view.js';
import { Overview } from './overview.js';
import { PointView } from './point-view.js';
import { PointsView } from './points-view.js';
import { SearchView } from './search-view.js';
import type { Session } from './service.js';
import { SignIn } from './sign-in.js';
import { useLive } from './use-live.js';
import { PLACES, useRoute, type Place, type Route } from './use-route.js';

export function App() {
  const [session, setSession] = useState<Session>();
  if (session === undefined) return <SignIn onSession={setSession} />;
  const signOut = (): void => {
    session.client.close();
    setSession(undefined);
  };
  return <Console session={session} onSignOut={signOut} />;
}

interface ConsoleProps {
  readonly session: Session;
  readonly onSignOut: () => void;
}

/** What somebody sees who is signed in. A place that was left keeps what was typed and found there. */
function Console({ session, onSignOut }: ConsoleProps) {
  const route = useRoute();
  const live = useLive(session);
  const [similarity, onSimilarity] = useState<Similarity>('Cosine');
  const visited = useVisited(route);
  useFocus(route);
  const { client, info } = session;
  const shared = { client, dimension: info.dimension, similarity, onSimilarity };
  const views: Readonly<Record<Place, () => JSX.Element>> = {
    overview: () => <Overview live={live} />,
    points: () => <PointsView client={client} />,
    search: () => <SearchView {...shared} />,
    map: () => <MapView {...shared} />,
  };
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header route={route} live={live} onSignOut={onSignOut} />
      <main id="main" tabIndex={-1}>
        {PLACES.map(
          ([place]) =>
            visited.has(place) && (
              <div key={place} class="place" hidden={!isAt(route, place)}>
                {views[place]()}
              </div>
            ),
        )}
        {'pointId' in route && <PointView key={route.pointId} id={route.pointId} {...shared} />}
      </main>
    </>
  );
}

function isAt(route: Route, place: Place): boolean {
  return 'place' in route && route.place === place;
}

/** The places that somebody has been to. */
function useVisited(route: Route): ReadonlySet<Place> {
  const [visited] = useState(() => new Set<Place>());
  if ('place' in route) visited.add(route.place);
  return visited;
}

/** Names the page after what it shows, and brings a screen reader there when that has changed. */
function useFocus(route: Route): void {
  const [isFirst, setIsFirst] = useState(true);
  useEffect(() => {
    const name =
      'pointId' in route ? 'Point' : PLACES.find(([place]) => place === route.place)?.[1];
    document.title = `${name} · vectord console`;
    window.scrollTo(0, 0);
    if (!isFirst) mainElement()?.focus({ preventScroll: true });
    setIsFirst(false);
  }, [route]);
}

function skip(event: Event): void {
  // A link to `#main` would lead to another place of the page.
  event.preventDefault();
  mainElement()?.focus();
}

function mainElement(): HTMLElement | null {
  return document.getElementById('main');
}
