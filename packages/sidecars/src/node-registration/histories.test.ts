import assert from "node:assert/strict";
import { test } from "node:test";
import { CSIDrivers, CSINodes, lastingSleepers, mutate, Nodes } from "@mooring/store";
import { howMany, nothingSleeps } from "@mooring/store/testing";
import fc from "fast-check";
import { type Harness, startHarness } from "../testing/harness.ts";
import { forgive } from "../testing/history.ts";
import { DRIVER, node } from "../testing/objects.ts";
import { type CsiNodeEntry, parseNodeIds } from "./decide.ts";

const NODE_IDS = "csi.volume.kubernetes.io/nodeid";
const NAME = { name: "n1" };
const theirs: CsiNodeEntry = { name: "other.example.com", nodeID: "x", topologyKeys: [] };

/** What the driver says of its node; it may say something else the next time that it is asked. */
interface Says {
  nodeId: string;
  segments: Record<string, string>;
  maxVolumes: number;
}

/** What kubelets, administrators, other drivers and a driver that is started anew do to what a registration reads. */
function deeds({ store }: Pick<Harness, "store">, says: Says) {
  const onNode = (change: (metadata: { labels: object; annotations: object }) => void) =>
    mutate(store, Nodes, NAME, ({ metadata }) => {
      const { labels = {}, annotations = {} } = metadata;
      Object.assign(metadata, { labels, annotations });
      change({ labels, annotations });
    });
  const onEntries = (change: (drivers: CsiNodeEntry[]) => CsiNodeEntry[]) =>
    mutate(store, CSINodes, NAME, ({ spec }) => {
      spec.drivers = change(spec.drivers);
    });
  return {
    "node comes": () => store.create(Nodes, node("n1")),
    "node goes": () => store.delete(Nodes, NAME),
    "label goes": () => onNode(({ labels }) => void Reflect.deleteProperty(labels, "zone")),
    "label is another": () => onNode(({ labels }) => void Object.assign(labels, { zone: "b" })),
    "label is right": () => onNode(({ labels }) => void Object.assign(labels, { zone: "a" })),
    "annotation is nonsense": () =>
      onNode(({ annotations }) => void Object.assign(annotations, { [NODE_IDS]: "{" })),
    "CSINode goes": () => store.delete(CSINodes, NAME),
    "entry goes": () => onEntries((drivers) => drivers.filter(({ name }) => name !== DRIVER)),
    "entry of another": () =>
      onEntries((drivers) => [...drivers.filter(({ name }) => name !== theirs.name), theirs]),
    "entry is wrong": () => onEntries((drivers) => drivers.map((each) => ({ ...each, nodeID: "wrong" }))),
    "CSIDriver goes": () => store.delete(CSIDrivers, { name: DRIVER }),
    "another limit": async () => {
      says.maxVolumes += 1;
    },
  };
}

type Deed = keyof ReturnType<typeof deeds>;
const deed = fc.constantFrom(...(Object.keys(deeds({} as Harness, {} as Says)) as Deed[]));

test("histories of random changes: a node is registered as its driver says, whatever was done to its objects", async (t) => {
  const says: Says = { nodeId: "host-7", segments: { zone: "a" }, maxVolumes: 1 };
  const sidecars = { nodeName: "n1", nodeRegistration: { askMs: 5, replaceMs: 20 } };
  const h = await startHarness(t, { driver: Object.assign(says, { topology: true }), sidecars });
  const does = deeds(h, says);
  const isRegistered = async () => {
    const [found, csiNode, csiDriver] = [
      ...(await Promise.all([h.find(Nodes, "n1"), h.find(CSINodes, "n1")])),
      await h.find(CSIDrivers, DRIVER),
    ];
    const entry = csiNode?.spec.drivers.find(({ name }) => name === DRIVER);
    const { labels, annotations } = found?.metadata ?? {};
    return (
      csiDriver !== undefined &&
      labels?.["zone"] === "a" &&
      parseNodeIds(annotations?.[NODE_IDS])[DRIVER] === says.nodeId &&
      entry?.nodeID === says.nodeId &&
      entry.allocatable?.count === says.maxVolumes
    );
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(deed, { minLength: 2, maxLength: 16 }),
      fc.boolean(),
      async (history, atOnce) => {
        const one = async (name: Deed) => void (await does[name]().catch(forgive));
        if (atOnce) await Promise.all(history.map(one));
        else for (const each of history) await one(each);
        assert.deepEqual(await lastingSleepers(), []);
        // Somebody puts right what a registration leaves alone.
        await one("node comes");
        await one("label is right");
        await h.until("it is registered", isRegistered);
      },
    ),
    { numRuns: howMany({ everyday: 5, full: 60, deep: 2_000 }), endOnFailure: true },
  );
  await nothingSleeps();
});
