import { ConfigMaps, isNotFound, nextSlice, type ObjectStore, Secrets, sliceLasts } from "@mooring/store";
import { ContainerConfigError } from "./config-error.ts";

export type Entries = Readonly<Record<string, Buffer>>;

/** What the ConfigMaps and Secrets of a namespace have, decoded. Each is read once, however often a pod names it. */
export class ObjectEntries {
  readonly #store: ObjectStore;
  readonly #namespace: string;
  readonly #read = new Map<string, Promise<Entries | undefined>>();

  constructor(store: ObjectStore, namespace: string) {
    this.#store = store;
    this.#namespace = namespace;
  }

  /** None when it is absent and `optional`; else throws what keeps the container waiting. */
  configMap(name: string, optional: boolean): Promise<Entries> {
    return this.#entries("configmap", name, optional, async (at) => {
      const { data, binaryData } = await this.#store.get(ConfigMaps, at);
      return { ...decode(data, "utf8"), ...decode(binaryData, "base64") };
    });
  }

  /** The same of a Secret. */
  secret(name: string, optional: boolean): Promise<Entries> {
    return this.#entries("secret", name, optional, async (at) =>
      decode((await this.#store.get(Secrets, at)).data, "base64"),
    );
  }

  async #entries(
    kind: string,
    name: string,
    optional: boolean,
    read: (at: { namespace: string; name: string }) => Promise<Entries>,
  ): Promise<Entries> {
    const key = `${kind}/${name}`;
    const reading = this.#read.get(key) ?? orMissing(read({ namespace: this.#namespace, name }));
    this.#read.set(key, reading);
    const entries = await reading;
    if (!sliceLasts()) await nextSlice();
    if (entries === undefined && !optional) throw new ContainerConfigError(`${kind} "${name}" not found`);
    return entries ?? {};
  }
}

function decode(data: Record<string, string> | undefined, encoding: "utf8" | "base64"): Entries {
  return Object.fromEntries(
    Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]),
  );
}

function orMissing<T>(wanted: Promise<T>): Promise<T | undefined> {
  return wanted.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}
