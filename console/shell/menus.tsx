import { useIsMutating } from '@tanstack/react-query'
import { Button, Header, Menu, MenuItem, MenuSection, MenuTrigger, Popover } from 'react-aria-components'
import { useLocation } from 'react-router'
import { useWorkspace } from '../api/workspace.ts'
import { Icon } from '../parts/icon.tsx'
import { useTexts } from '../texts/texts.tsx'
import { urls } from '../urls.ts'
import type { PageEntry } from './pages.ts'
import { useChoices } from './preference-choices.ts'
import { SWITCHING, useSignOut, useSwitchOrganization } from './session-actions.ts'

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
          onAction={key => {
            const to = organizations.find(one => one.organizationId === key)
            if (to && to !== current) change(to)
          }}
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

/** On a phone, the pages for which the bar has no room. */
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
  const choices = useChoices()
  const signOut = useSignOut()
  const act = (key: string) => {
    if (key === 'sign-out') return signOut()
    if (key === 'interface') return void window.open(urls.interface, '_blank', 'noreferrer')
    choices
      .flatMap(({ values }) => values)
      .find(({ id }) => id === key)
      ?.choose()
  }
  return (
    <MenuTrigger>
      <Button className="button quiet account" aria-label={texts.account.user(user.name)}>
        <Icon name="user" />
        <span>{user.name}</span>
      </Button>
      <Popover className="popover" placement="top start">
        <Menu className="menu" onAction={key => act(String(key))}>
          {choices.map(({ key, name, values }) => (
            <MenuSection
              key={key}
              selectionMode="single"
              selectedKeys={values.filter(({ isChosen }) => isChosen).map(({ id }) => id)}
            >
              <Header>{name}</Header>
              {values.map(({ id, name }) => (
                <MenuItem key={id} id={id} className="menu-item">
                  {name}
                </MenuItem>
              ))}
            </MenuSection>
          ))}
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
