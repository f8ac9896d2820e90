/** The mark and the name. */
export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
        <circle cx="4" cy="11" r="2.5" opacity="0.85" />
        <circle cx="11.5" cy="4.5" r="3.5" />
        <circle cx="12" cy="13" r="1.8" opacity="0.6" />
      </svg>
      vectord
    </span>
  );
}
