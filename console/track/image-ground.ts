import { type Ground, squaresOf } from './view.ts'

const MAX_TILES = 200
const IMAGE_PX = 256

/** Image tiles. `urlOf` is the address of one. */
export function createImages(
  urlOf: (z: number, x: number, y: number) => string,
  maxZoom: number,
  request: () => void,
): Ground {
  const tiles = new Map<string, HTMLImageElement>()

  function readTile(url: string): HTMLImageElement {
    const known = tiles.get(url)
    if (known) return known
    for (const oldest of tiles.keys()) {
      if (tiles.size < MAX_TILES) break
      tiles.delete(oldest)
    }
    const image = new Image(IMAGE_PX, IMAGE_PX)
    image.onload = request
    image.src = url
    tiles.set(url, image)
    return image
  }

  const draw: Ground['draw'] = (pen, view, colors) => {
    pen.fillStyle = colors.blank
    pen.fillRect(0, 0, view.width, view.height)
    // A tile of 256 pixels has a quarter of the area of one of 512.
    const level = Math.max(0, Math.min(maxZoom, Math.round(view.zoom + 1)))
    for (const { z, x, y, left, top, size } of squaresOf(view, level)) {
      const image = readTile(urlOf(z, x, y))
      if (image.complete && image.naturalWidth > 0) pen.drawImage(image, left, top, size + 0.5, size + 0.5)
    }
  }
  return { draw }
}
