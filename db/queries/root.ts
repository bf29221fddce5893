/** SQL for the root (fair/roots.ts) of the organization `o`. */
export const ROOT = 'coalesce(o.root, o.id)'
