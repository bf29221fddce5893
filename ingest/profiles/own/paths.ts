import { ROOTS } from './context.ts'
import { ProfileFault } from './fault.ts'
import { compilePath, type Find } from './path.ts'

export const MAX_PATHS = 64

/** Compiles the paths of one profile, and says where one makes no sense. */
export interface PathCompiler {
  compile(path: string, where: readonly (string | number)[]): { find: Find; root: string }
  /** Compiles something else, whose error belongs to `where`. */
  at<T>(where: readonly (string | number)[], compile: () => T): T
  /** Whether a path stands for the whole payload, which then may be a text that is no JSON. */
  readonly takesText: boolean
}

/** `$.item` exists only with a list whose elements are positions. */
export function createPathCompiler({ hasItems }: { hasItems: boolean }): PathCompiler {
  const roots = ROOTS.filter(root => root !== 'item' || hasItems)
  let takesText = false
  const at = <T>(where: readonly (string | number)[], compile: () => T): T => {
    try {
      return compile()
    } catch (error) {
      throw error instanceof Error && !(error instanceof ProfileFault)
        ? new ProfileFault(where, error.message)
        : error
    }
  }
  return {
    at,
    compile(path, where) {
      const { find, root, isWhole } = at(where, () => compilePath(path, roots))
      if (root === 'payload' && isWhole) takesText = true
      return { find, root }
    },
    get takesText() {
      return takesText
    },
  }
}
