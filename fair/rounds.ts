/** Anything that may wait: its size is the number of waiting items. */
interface Sized {
  readonly size: number
}

/**
 * Turns by cost, for members that each have a queue. In each round every member may have work of cost 1. A member whose work cost
 * 1,000 is served again 1,000 rounds later, so a member with small items gets as much as a member with large ones.
 *
 * A member whose queue is empty keeps its place until its round comes. So leaving and coming back brings no earlier turn.
 */
export class Rounds<Key, Member extends Sized> {
  #round = 0
  /** The members of each round from the current one on, in the order of their turns. */
  readonly #rounds = new Map<number, Map<Key, Member>>()
  readonly #members = new Map<Key, Member>()

  get(key: Key): Member | undefined {
    return this.#members.get(key)
  }

  members(): Iterable<Member> {
    return this.#members.values()
  }

  /** Adds a new member. Its turn is the last of the current round. */
  add(key: Key, member: Member): Member {
    this.#members.set(key, member)
    this.#schedule(key, member, this.#round)
    return member
  }

  /** Returns the member whose turn it is. At least one member must have a waiting item. */
  first(): Member {
    for (;;) {
      const members = this.#rounds.get(this.#round)
      for (const [key, member] of members ?? []) {
        if (member.size > 0) return member
        members?.delete(key)
        this.#members.delete(key)
      }
      this.#rounds.delete(this.#round++)
    }
  }

  /** Ends the turn of the first member. `cost` is a whole number from 1. */
  endTurn(cost: number): void {
    const members = this.#rounds.get(this.#round)
    for (const [key, member] of members ?? []) {
      members?.delete(key)
      this.#schedule(key, member, this.#round + cost)
      return
    }
  }

  /** Removes all members. */
  clear(): void {
    this.#rounds.clear()
    this.#members.clear()
  }

  #schedule(key: Key, member: Member, round: number): void {
    const members = this.#rounds.get(round)
    if (members) members.set(key, member)
    else this.#rounds.set(round, new Map([[key, member]]))
  }
}
