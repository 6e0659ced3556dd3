import { statfs } from "node:fs/promises";
import { KeyedLock } from "@mooring/store";
import type { PoolKeeper } from "./keeper.ts";
import { keeperLevels } from "./levels.ts";

/** Whether a pool has a keeper. Who looks after it starts none behind the back of who has just stopped it. */
export class KeeperSwitch {
  readonly #keeper: PoolKeeper;
  readonly #mount: string;
  readonly #turns = new KeyedLock();
  #isOn: boolean;

  /** `mount`: where the pool's file system is. */
  constructor(keeper: PoolKeeper, mount: string, isOn: boolean) {
    this.#keeper = keeper;
    this.#mount = mount;
    this.#isOn = isOn;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Starts one where there is to be one and none is. */
  watch(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#isOn) await this.#start();
    });
  }

  /** Its levels go by the size of the pool, which has changed. */
  restart(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#keeper.stop();
      if (this.#isOn) await this.#start();
    });
  }

  /** There is to be one from now on, or none. One that cannot be started leaves it as it was. */
  turn(isOn: boolean): Promise<void> {
    return this.#inTurn(async () => {
      if (isOn) await this.#start();
      this.#isOn = isOn;
      if (!isOn) await this.#keeper.stop();
    });
  }

  async #start(): Promise<void> {
    const { blocks, bsize } = await statfs(this.#mount);
    await this.#keeper.ensure(keeperLevels(blocks * bsize));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#turns.run(this.#mount, work);
  }
}
