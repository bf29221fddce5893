const NOT_WRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC'])

/** Says what is wrong with DATA_DIR if an error of the file system is about it; null for any other error. */
export function explainDataDir(error: unknown, dataDir: string): string | null {
  const { code, path, dest } = error as NodeJS.ErrnoException & { dest?: string }
  if (code === undefined || !NOT_WRITABLE.has(code)) return null
  const place = [path, dest].find(one => one?.startsWith(dataDir))
  if (place === undefined) return null
  if (code === 'ENOSPC') return `DATA_DIR ${dataDir} is on a full disk: make room on it.`
  const user = process.getuid ? `the user ${process.getuid()}` : 'this user'
  return (
    `DATA_DIR ${dataDir} has to be a folder that ${user} may write (${code} at ${place}): ` +
    'change its owner, or set DATA_DIR to another one.'
  )
}
