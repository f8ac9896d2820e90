import { Brand } from './brand.js';
import type { Live } from './use-live.js';
import { PLACES, type Route } from './use-route.js';

interface HeaderProps {
  readonly route: Route;
  readonly live: Live;
  readonly onSignOut: () => void;
}

export function Header({ route, live, onSignOut }: HeaderProps) {
  const current = 'place' in route ? route.place : 'points';
  return (
    <header class="top">
      <Brand />
      <nav aria-label="Console">
        <ul>
          {PLACES.map(([place, name]) => (
            <li key={place}>
              <a href={`#/${place}`} aria-current={place === current ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Status live={live} />
      <button type="button" onClick={onSignOut}>
        Sign out
      </button>
    </header>
  );
}

/** Whether all is well, in a word that is read out when it changes. */
function Status({ live: { faults, error } }: { readonly live: Live }) {
  const [state, text] =
    error !== undefined
      ? ['bad', 'No answer']
      : faults === undefined
        ? ['unknown', 'Asking']
        : faults.length > 0
          ? ['bad', 'Not ready']
          : ['good', 'Ready'];
  return (
    <p class={`status ${state}`} role="status">
      {text}
    </p>
  );
}
