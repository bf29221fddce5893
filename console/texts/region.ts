import type { Units } from './format.ts'

/** The countries that sign their roads in miles: Liberia, Myanmar, the United Kingdom, the United States. */
const REGIONS = ['GB', 'LR', 'MM', 'US']
const ZONES =
  /^(US\/.+|Africa\/Monrovia|Asia\/(Rangoon|Yangon)|Europe\/(Belfast|Guernsey|Isle_of_Man|Jersey|London)|Pacific\/Honolulu|America\/(Adak|Anchorage|Boise|Chicago|Denver|Detroit|Juneau|Los_Angeles|Menominee|Metlakatla|New_York|Nome|Phoenix|Sitka|Yakutat|(Indiana|Kentucky|North_Dakota)\/.+))$/

const regionOf = (locale: string | null | undefined) => locale && new Intl.Locale(locale).region

/**
 * The usual units of a region: the browser's by its first language alone (Firefox lists American English after any other
 * language), else the organization's.
 */
export function unitsOf(
  browser: string,
  organization?: { language?: string | null; timeZone?: string },
): Units {
  const region = regionOf(browser) ?? regionOf(organization?.language)
  const isImperial = region ? REGIONS.includes(region) : ZONES.test(organization?.timeZone ?? '')
  return isImperial ? 'imperial' : 'metric'
}
