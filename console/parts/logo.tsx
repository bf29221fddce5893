export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M7 23c5 0 4-11 9-11s4 6 9-3" />
      <circle cx="25" cy="9" r="3.2" />
    </svg>
  )
}
