import { useIsMutating } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { Button, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components'
import { useLocation } from 'react-router'
import { Icon } from '../parts/icon.tsx'
import { getPreferences, onPreferences, type Preferences, setPreferences } from '../preferences.ts'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import { SWITCHING, signOut, useSwitchOrganization } from './account.ts'
import type { PageEntry } from './pages.ts'
import { useWorkspace } from './workspace.tsx'

export function OrganizationMenu() {
  const texts = useTexts()
  const { organizations } = useWorkspace()
  const current = organizations.find(one => one.isCurrent)
  const change = useSwitchOrganization()
  const isSwitching = useIsMutating({ mutationKey: SWITCHING }) > 0
  const name = isSwitching ? texts.account.switching : (current?.organizationName ?? '')
  if (organizations.length < 2) return <p className="organization">{name}</p>
  return (
    <MenuTrigger>
      <Button className="button quiet organization" aria-label={texts.account.organization(name)}>
        <span>{name}</span>
        <Icon name="down" />
      </Button>
      <Popover className="popover" placement="bottom start">
        <Menu
          className="menu"
          selectionMode="single"
          selectedKeys={current ? [current.organizationId] : []}
          onAction={key => change.mutate(String(key))}
        >
          <MenuSection>
            <Header>{texts.account.organizations}</Header>
            {organizations.map(one => (
              <MenuItem
                key={one.organizationId}
                id={one.organizationId}
                className="menu-item"
                textValue={one.organizationName}
              >
                <span>{one.organizationName}</span>
                <small>{one.roleName}</small>
              </MenuItem>
            ))}
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

/** On a phone: the pages that have no room in the bar. */
export function MorePages({ pages }: { pages: readonly PageEntry[] }) {
  const { nav } = useTexts()
  const { pathname } = useLocation()
  if (pages.length === 0) return null
  const isHere = pages.some(({ to }) => pathname.startsWith(to))
  return (
    <MenuTrigger>
      <Button className={`nav-item nav-more ${isHere ? 'active' : ''}`}>
        <Icon name="more" />
        <span>{nav.more}</span>
      </Button>
      <Popover className="popover" placement="top end">
        <Menu className="menu" aria-label={nav.more} items={pages}>
          {({ to, icon, text }) => (
            <MenuItem id={to} href={to} textValue={text} className="menu-item page-item">
              <Icon name={icon} />
              {text}
            </MenuItem>
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

export function AccountMenu() {
  const texts = useTexts()
  const { user } = useWorkspace()
  const { theme, language } = useSyncExternalStore(onPreferences, getPreferences)
  const act = (key: string) => {
    if (key === 'sign-out') return void signOut()
    if (key === 'interface') return void window.open(urls.interface, '_blank', 'noreferrer')
    const [name, value] = key.split(':')
    setPreferences({ [name as string]: value } as Partial<Preferences>)
  }
  const themes = { system: texts.account.system, light: texts.account.light, dark: texts.account.dark }
  const languages = { system: texts.account.system, en: 'English', de: 'Deutsch' }
  return (
    <MenuTrigger>
      <Button className="button quiet account" aria-label={texts.account.user(user.name)}>
        <Icon name="user" />
        <span>{user.name}</span>
      </Button>
      <Popover className="popover" placement="top start">
        <Menu className="menu" onAction={key => act(String(key))}>
          <MenuSection selectionMode="single" selectedKeys={[`theme:${theme}`]}>
            <Header>{texts.account.theme}</Header>
            {Object.entries(themes).map(([name, text]) => (
              <MenuItem key={name} id={`theme:${name}`} className="menu-item">
                {text}
              </MenuItem>
            ))}
          </MenuSection>
          <MenuSection selectionMode="single" selectedKeys={[`language:${language}`]}>
            <Header>{texts.account.language}</Header>
            {Object.entries(languages).map(([name, text]) => (
              <MenuItem key={name} id={`language:${name}`} className="menu-item">
                {text}
              </MenuItem>
            ))}
          </MenuSection>
          <MenuSection>
            <Header>{user.email}</Header>
            <MenuItem id="interface" className="menu-item">
              {texts.nav.interface}
            </MenuItem>
            <MenuItem id="sign-out" className="menu-item">
              {texts.account.signOut}
            </MenuItem>
          </MenuSection>
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
