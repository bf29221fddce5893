import { useWorkspace } from '../api/workspace.ts'
import type { IconName } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'

export interface PageEntry {
  to: string
  icon: IconName
  text: string
}

/** The pages that a role may see, in the order in which they are listed. */
export function usePages(): PageEntry[] {
  const { nav } = useTexts()
  const { may } = useWorkspace()
  const pages: (PageEntry & { needs?: string[] })[] = [
    { to: urls.map, icon: 'map', text: nav.map },
    { to: urls.playback, icon: 'history', text: nav.playback, needs: ['view/location'] },
    { to: urls.devices, icon: 'device', text: nav.devices, needs: ['view/device'] },
    { to: urls.vehicles, icon: 'vehicle', text: nav.vehicles, needs: ['view/vehicle'] },
    { to: urls.teams, icon: 'team', text: nav.teams, needs: ['view/team'] },
    { to: urls.hubs, icon: 'hub', text: nav.hubs, needs: ['view/hub'] },
    { to: urls.geofences, icon: 'fence', text: nav.geofences, needs: ['view/geofence'] },
    { to: urls.links, icon: 'link', text: nav.links, needs: ['view/tracking-link', 'view/location'] },
    { to: urls.rejections, icon: 'rejected', text: nav.rejections, needs: ['view/device'] },
  ]
  return pages.filter(({ needs = [] }) => needs.every(may))
}
