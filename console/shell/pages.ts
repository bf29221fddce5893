import { useWorkspace } from '../api/workspace.ts'
import { GROUPS, KINDS, PAGE_KINDS, permissionTo } from '../kinds.ts'
import type { IconName } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

export interface PageEntry {
  to: string
  icon: IconName
  text: string
  group: (typeof GROUPS)[number]
}

/** The pages that the role may see, in the order of the navigation. */
export function usePages(): PageEntry[] {
  const { may } = useWorkspace()
  return useAllPages().filter(({ needs = [] }) => needs.every(may))
}

/** All pages, with the permissions that show them. */
export function useAllPages(): (PageEntry & { needs?: string[] })[] {
  const { nav, kinds } = useTexts()
  const { runsServer } = useWorkspace().user
  const ofKinds = PAGE_KINDS.map(kind => ({
    to: urls.list(kind),
    icon: KINDS[kind].icon,
    text: kinds[kind].title,
    needs: [permissionTo('view', kind)],
    group: KINDS[kind].group,
  }))
  const pages: ReturnType<typeof useAllPages> = [
    { to: urls.map, icon: 'map', text: nav.map, group: 'watch' },
    { to: urls.playback, icon: 'history', text: nav.playback, needs: ['view/location'], group: 'watch' },
    ...ofKinds,
    {
      to: urls.links,
      icon: 'link',
      text: nav.links,
      needs: ['view/tracking-link', 'view/location'],
      group: 'watch',
    },
    { to: urls.schedules, icon: 'clock', text: nav.schedules, needs: ['view/task-schedule'], group: 'plan' },
    {
      to: urls.imports,
      icon: 'download',
      text: nav.imports,
      needs: ['import/data', 'view/data-type'],
      group: 'data',
    },
    {
      to: urls.rejections,
      icon: 'rejected',
      text: nav.rejections,
      needs: ['view/device'],
      group: 'trackers',
    },
    ...(runsServer
      ? [
          {
            to: urls.server,
            icon: 'pulse' as const,
            text: nav.server,
            // Together they are the Owner's.
            needs: ['update/organization', 'delete/organization'],
            group: 'administration' as const,
          },
        ]
      : []),
    { to: urls.settings, icon: 'settings', text: nav.settings, group: 'administration' },
  ]
  return GROUPS.flatMap(group => pages.filter(page => page.group === group))
}
