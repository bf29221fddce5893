/** A server that hangs must not keep the map from being drawn. */
const LOADED_WITHIN_MS = 5_000

/** Resolves when texts on a canvas are drawn in the typeface of the page. A drawn text does not change when that comes later. */
export async function loadTypeface(): Promise<void> {
  const { fontFamily } = getComputedStyle(document.body)
  const waited = new Promise(resolve => setTimeout(resolve, LOADED_WITHIN_MS))
  await Promise.race([document.fonts.load(`600 1rem ${fontFamily}`).catch(() => {}), waited])
}
