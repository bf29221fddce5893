import { useWorkspace } from '../api/workspace.ts'
import { KINDS, PAGE_KINDS, permissionTo } from '../kinds.ts'
import type { IconName } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

export interface PageEntry {
  to: string
  icon: IconName
  text: string
}

/** The pages that the role may see, in the order of the navigation. */
export function usePages(): PageEntry[] {
  const { nav, kinds } = useTexts()
  const { may } = useWorkspace()
  const pages: (PageEntry & { needs?: string[] })[] = [
    { to: urls.map, icon: 'map', text: nav.map },
    { to: urls.playback, icon: 'history', text: nav.playback, needs: ['view/location'] },
    ...PAGE_KINDS.map(kind => ({
      to: urls.list(kind),
      icon: KINDS[kind].icon,
      text: kinds[kind].title,
      needs: [permissionTo('view', kind)],
    })),
    { to: urls.links, icon: 'link', text: nav.links, needs: ['view/tracking-link', 'view/location'] },
    { to: urls.rejections, icon: 'rejected', text: nav.rejections, needs: ['view/device'] },
  ]
  return pages.filter(({ needs = [] }) => needs.every(may))
}
