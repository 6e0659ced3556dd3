import type { Ask } from "./ask.ts";

type Fields = { [field: string]: unknown };

const DRIVER = "d.example.com";

/** By kind: where objects of it are created, and what is taken there. */
const TAKEN: Readonly<Record<string, { path: string; fields: Fields }>> = {
  StorageClass: storage("storageclasses", { provisioner: DRIVER }),
  CSIDriver: storage("csidrivers", { metadata: { name: DRIVER }, spec: {} }),
  CSINode: storage("csinodes", { spec: { drivers: [{ name: DRIVER, nodeID: "n" }] } }),
  CSIStorageCapacity: storage("namespaces/default/csistoragecapacities", { storageClassName: "fast" }),
  VolumeAttributesClass: storage("volumeattributesclasses", { driverName: DRIVER, parameters: { a: "b" } }),
  VolumeAttachment: storage("volumeattachments", {
    spec: { attacher: DRIVER, nodeName: "n", source: { persistentVolumeName: "pv" } },
  }),
  PersistentVolume: {
    path: "/api/v1/persistentvolumes",
    fields: {
      apiVersion: "v1",
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        csi: { driver: DRIVER, volumeHandle: "h" },
      },
    },
  },
  PersistentVolumeClaim: {
    path: "/api/v1/namespaces/default/persistentvolumeclaims",
    fields: {
      apiVersion: "v1",
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    },
  },
};

function storage(resource: string, fields: Fields): { path: string; fields: Fields } {
  return {
    path: `/apis/storage.k8s.io/v1/${resource}`,
    fields: { apiVersion: "storage.k8s.io/v1", ...fields },
  };
}

/** KIND, what about it, what differs from an object that is taken: `ok`, or what is wrong, as `reason field`. */
export const askStorage: Ask = async (server, [kind = "", , change = "{}"]) => {
  const taken = TAKEN[kind];
  if (taken === undefined) throw new Error(`there is no kind ${kind}`);
  const { spec, ...others } = expanded(JSON.parse(change)) as Fields;
  const { spec: before, ...fields } = taken.fields;
  const object = { kind, metadata: { name: "x" }, ...fields, ...others };
  const specs = spec === null ? {} : { spec: { ...(before as Fields), ...(spec as Fields | undefined) } };
  const body = JSON.stringify(before === undefined ? object : { ...object, ...specs });
  const { code, body: status } = await server.send("POST", `${taken.path}?dryRun=All`, { body });
  if (code === 201) return "ok";
  const causes = (status.details?.causes ?? []).map(({ reason, field }) => `${reason} ${field}`);
  return causes.length === 0 ? String(code) : [...new Set(causes)].sort().join(" + ");
};

/** `null` takes a field away; `@5` is a text of five characters, and as a name five names. */
function expanded(value: unknown): unknown {
  if (typeof value === "string") return /^@\d+$/.test(value) ? "x".repeat(Number(value.slice(1))) : value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => {
      const names = /^@\d+$/.test(name)
        ? Array.from({ length: Number(name.slice(1)) }, (_, index) => `p${index}`)
        : [name];
      return names.map((one) => [one, expanded(each)]);
    }),
  );
}
