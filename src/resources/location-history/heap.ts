/** An item of a heap, with its place there and the cost of removing it. */
export interface Item {
  /** The index in the heap, or -1. */
  place: number
  cost: number
}

/** A heap of items whose costs change, with the lowest cost at the top. */
export class Heap<T extends Item> {
  #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  get least(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#put(item, this.#items.length)
    this.#rise(item)
  }

  /** Moves an item after its cost has changed. */
  move(item: T): void {
    this.#rise(item)
    this.#sink(item)
  }

  remove(item: T): void {
    const last = this.#items.pop() as T
    if (last !== item) {
      this.#put(last, item.place)
      this.move(last)
    }
    item.place = -1
  }

  /** Computes the costs of all items again. */
  weigh(costOf: (item: T) => number): void {
    for (const item of this.#items) item.cost = costOf(item)
    for (let place = (this.#items.length >> 1) - 1; place >= 0; place--) this.#sink(this.#items[place] as T)
  }

  #put(item: T, place: number): void {
    this.#items[place] = item
    item.place = place
  }

  #rise(item: T): void {
    let { place } = item
    while (place > 0) {
      const above = this.#items[(place - 1) >> 1] as T
      if (above.cost <= item.cost) break
      this.#put(above, place)
      place = (place - 1) >> 1
    }
    this.#put(item, place)
  }

  #sink(item: T): void {
    const items = this.#items
    let { place } = item
    for (;;) {
      let next = place * 2 + 1
      if (next >= items.length) break
      if (next + 1 < items.length && (items[next + 1] as T).cost < (items[next] as T).cost) next++
      const below = items[next] as T
      if (below.cost >= item.cost) break
      this.#put(below, place)
      place = next
    }
    this.#put(item, place)
  }
}
