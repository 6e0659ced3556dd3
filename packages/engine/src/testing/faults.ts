import { type ObjectStore, StatusError } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { Exec, Host } from "../host/host.ts";

const WRITES = new Set(["create", "update", "updateStatus", "patch", "delete"]);

/** Calls that will fail, as those of a healthy machine and server do not. */
export class Faults {
  #writes = 0;
  #programs = 0;

  /** The next writes to the store are refused before they have an effect. */
  failWrites(count: number): void {
    this.#writes = count;
  }

  /** The next programs end with an error, and have done nothing. */
  failPrograms(count: number): void {
    this.#programs = count;
  }

  clear(): void {
    this.#writes = 0;
    this.#programs = 0;
  }

  /** The store as what is under test sees it. */
  store(real: ObjectStore): ObjectStore {
    return new Proxy(real, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (!WRITES.has(String(name)) || this.#writes <= 0) return value.apply(target, args);
          this.#writes -= 1;
          return Promise.reject(new StatusError("ServiceUnavailable", "the test refuses this write"));
        };
      },
    });
  }

  /** The machine as what is under test sees it. Mounts and loop devices start their programs by themselves. */
  host(real: Host): Host {
    const check = (file: string): void => {
      if (this.#programs <= 0) return;
      this.#programs -= 1;
      throw new EngineError("INTERNAL", `${file} fails as the test wants`);
    };
    const exec: Exec = {
      run: async (file, ...rest) => {
        check(file);
        return real.exec.run(file, ...rest);
      },
      try: async (file, ...rest) => {
        check(file);
        return real.exec.try(file, ...rest);
      },
    };
    return { ...real, exec };
  }
}
