import type { JsonListEnd } from "../local/list.ts";
import type { Items } from "./protocol.ts";

type Item = Items["items"][number];

type Source = AsyncGenerator<Item, JsonListEnd> | AsyncGenerator<Item, void>;

/** Characters that are read ahead, and go in one message: what the client has not read is kept, and copied in one turn. */
const AHEAD = 262_144;

/** A generator whose items are fetched in bunches: whatever has come since, so that one message has many of them. */
export class Outlet {
  readonly #source: Source;
  readonly #most: number;
  #items: Item[] = [];
  #characters = 0;
  #end: JsonListEnd | undefined;
  #error: unknown;
  #failed = false;
  #arrived = () => {};
  #fetched = () => {};

  /** `most`: items that are read ahead, fewer where they are large. */
  constructor(source: Source, most: number) {
    this.#source = source;
    this.#most = most;
    void this.#read();
  }

  /** At least one item, or the end. Throws what the generator has thrown. */
  async next(): Promise<Items> {
    while (this.#items.length === 0 && this.#end === undefined && !this.#failed)
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    const items = this.#items;
    this.#items = [];
    this.#characters = 0;
    this.#fetched();
    if (items.length > 0) return { items };
    if (this.#failed) throw this.#error;
    return { items, end: this.#end ?? {} };
  }

  /** The client wants no more of it. */
  async stop(): Promise<void> {
    this.#end ??= {};
    this.#arrived();
    this.#fetched();
    await this.#source.return({} as never).catch(() => {});
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await this.#source.next();
        if (done === true) {
          this.#end = value ?? {};
          break;
        }
        this.#items.push(value);
        this.#characters += charactersOf(value);
        // Those that come in the same turn go together.
        setImmediate(() => this.#arrived());
        if (this.#items.length >= this.#most || this.#characters >= AHEAD)
          await new Promise<void>((resolve) => {
            this.#fetched = resolve;
          });
      }
    } catch (error) {
      this.#failed = true;
      this.#error = error;
    }
    this.#arrived();
  }
}

function charactersOf(item: Item): number {
  if (!Array.isArray(item)) return item.json.length;
  return item.reduce((sum, { length }) => sum + length, 0);
}
