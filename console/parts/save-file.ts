const REVOKE_AFTER_MS = 60_000

/** Saves a file that the page has read or made. A plain link could not send the session's token. */
export function saveFile(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // The browser has read the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_AFTER_MS)
}
