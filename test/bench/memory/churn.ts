import {
  ConfigMaps,
  type KubeObject,
  PersistentVolumeClaims,
  Pods,
  type Resource,
  type RestStore,
  waitFor,
} from "@mooring/store";
import { claim, pod } from "../../support/manifests.ts";
import { load } from "../measure.ts";
import { accepted, patience } from "./accepted.ts";

/** Of so many turns one is the life of a claim, and one that of a claim in a pod; the others are ConfigMaps'. */
const [CLAIM_TURNS, POD_TURNS] = [20, 200];
const IN_FLIGHT = 16;

export function configMap(namespace: string, name: string) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace },
    data: { text: "x".repeat(500) },
  };
}

interface Life {
  store: RestStore;
  namespace: string;
  name: string;
}

async function until<T extends KubeObject>(
  { store, namespace, name }: Life,
  resource: Resource<T>,
  condition: (object: T | undefined) => boolean,
): Promise<void> {
  await waitFor(store, { resource, key: { namespace, name } }, condition, patience());
}

async function changed(life: Life, resource: Resource): Promise<void> {
  const { store, ...key } = life;
  const body = { metadata: { labels: { turn: key.name } } };
  await accepted(() => store.patch(resource, key, { type: "merge", body }));
}

async function gone(life: Life, resource: Resource): Promise<void> {
  const { store, ...key } = life;
  await accepted(() => store.delete(resource, key));
  await until(life, resource, (object) => object === undefined);
}

/** Three operations. */
async function configMapLife(life: Life): Promise<void> {
  const { store, ...key } = life;
  await accepted(() => store.create(ConfigMaps, configMap(key.namespace, key.name)));
  await changed(life, ConfigMaps);
  await accepted(() => store.delete(ConfigMaps, key));
}

/** Three operations, and what they cause: a volume with its image, bound, changed and deleted. */
async function claimLife(life: Life, during: () => Promise<void> = async () => {}): Promise<void> {
  const { store, namespace, name } = life;
  await accepted(() => store.create(PersistentVolumeClaims, claim(namespace, name, { size: "16Mi" })));
  await until(life, PersistentVolumeClaims, (object) => object?.status?.phase === "Bound");
  await changed(life, PersistentVolumeClaims);
  await during();
  await gone(life, PersistentVolumeClaims);
}

/** Five operations: a pod with a claim of its own. */
async function podLife(life: Life): Promise<void> {
  const { store, namespace, name } = life;
  await claimLife(life, async () => {
    const object = pod(namespace, name, "exec sleep 100000", { mounts: { "/data": name } });
    await accepted(() => store.create(Pods, object));
    await until(life, Pods, (object) => object?.status?.phase === "Running");
    await gone(life, Pods);
  });
}

/** Makes, changes and deletes objects in a namespace, always new ones; nothing is left of them after each call. */
export class Churn {
  readonly #store: RestStore;
  readonly #namespace: string;
  #turns = 0;
  /** Done so far: a create, patch or delete that a client has asked for. */
  operations = 0;

  constructor(store: RestStore, namespace: string) {
    this.#store = store;
    this.#namespace = namespace;
  }

  /** Goes on until so many operations have been done since the beginning. */
  async upTo(operations: number): Promise<void> {
    while (this.operations < operations)
      await load(POD_TURNS / 2, IN_FLIGHT, () => this.#turn(this.#turns++));
  }

  async #turn(turn: number): Promise<void> {
    const life: Life = { store: this.#store, namespace: this.#namespace, name: `turn-${turn}` };
    if (turn % POD_TURNS === 0) {
      await podLife(life);
      this.operations += 5;
    } else {
      await (turn % CLAIM_TURNS === 0 ? claimLife(life) : configMapLife(life));
      this.operations += 3;
    }
  }
}
