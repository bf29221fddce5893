/**
 * A map with a bound, of which no organization takes more than its part: a large one that fills its own leaves room for the
 * others. What has no place is not taken.
 */
export class SharedMap<Value> {
  readonly #values = new Map<string, { owner: string | null; value: Value }>()
  readonly #taken = new Map<string, number>()
  readonly #max: number
  readonly #maxOfOne: number

  constructor(max: number, maxOfOne: number) {
    this.#max = max
    this.#maxOfOne = maxOfOne
  }

  get size(): number {
    return this.#values.size
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)?.value
  }

  /** Returns false where there is no place. `owner` is the organization; null belongs to none, and is bounded by `max` alone. */
  set(key: string, owner: string | null, value: Value): boolean {
    const known = this.#values.get(key)
    if (known) {
      known.value = value
      return true
    }
    const taken = owner === null ? 0 : (this.#taken.get(owner) ?? 0)
    if (this.#values.size >= this.#max || taken >= this.#maxOfOne) return false
    this.#values.set(key, { owner, value })
    if (owner !== null) this.#taken.set(owner, taken + 1)
    return true
  }

  delete(key: string): void {
    const owner = this.#values.get(key)?.owner
    if (!this.#values.delete(key) || typeof owner !== 'string') return
    const taken = (this.#taken.get(owner) ?? 0) - 1
    if (taken > 0) this.#taken.set(owner, taken)
    else this.#taken.delete(owner)
  }

  *entries(): IterableIterator<[key: string, value: Value]> {
    for (const [key, { value }] of this.#values) yield [key, value]
  }
}
