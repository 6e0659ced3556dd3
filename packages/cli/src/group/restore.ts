import { type ClaimOverrides, type VolumeGroupRestore, VolumeGroupRestores } from "@mooring/sidecars";
import { defined, type ObjectStore } from "@mooring/store";
import { InvalidArgumentError } from "commander";
import { table } from "../output/table.ts";
import { phaseLine, type Waiting, waitForObject } from "./wait.ts";

interface RestoreWish {
  namespace: string;
  name: string;
  from: string;
  template?: string;
  className?: string;
  /** Source claim -> size. */
  sizes: Readonly<Record<string, string>>;
  /** Source claim -> name of the restored one. */
  names: Readonly<Record<string, string>>;
  /** A new VolumeGroup of the restored claims. */
  into?: { name: string; volumeGroupClassName?: string };
}

/** Collects `CLAIM=VALUE` options, of which `example` is one. */
export function collectPair(
  text: string,
  before: Record<string, string>,
  example: string,
): Record<string, string> {
  const [claim = "", value = "", ...rest] = text.split("=");
  if (claim === "" || value === "" || rest.length > 0)
    throw new InvalidArgumentError(`Name the source claim and what you want for it, such as ${example}.`);
  return { ...before, [claim]: value };
}

/** Creates the VolumeGroupRestore that a command asks for; resolves with it as the server left it. */
export function createGroupRestore(store: ObjectStore, wish: RestoreWish): Promise<VolumeGroupRestore> {
  const { className, from, into, name, names, namespace, sizes, template } = wish;
  const defaults: ClaimOverrides = defined({ storageClassName: className });
  const claims = [...new Set([...Object.keys(sizes), ...Object.keys(names)])];
  const members = claims.map((claim) => ({
    claim,
    ...defined({ name: names[claim], size: sizes[claim] }),
  }));
  return store.create(VolumeGroupRestores, {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "VolumeGroupRestore",
    metadata: { name, namespace },
    spec: {
      source: { volumeGroupSnapshotName: from },
      ...defined({ claimNameTemplate: template }),
      ...(className === undefined ? {} : { defaults }),
      ...(members.length === 0 ? {} : { members }),
      ...defined({ volumeGroup: into }),
    },
  });
}

/**
 * Until all claims are bound or wait for the Pod that uses them, and those that are bound are in their new group: a group
 * snapshot that a script makes next would be without the others. A failure ends it at once.
 */
export function untilComplete(store: ObjectStore, waiting: Waiting) {
  const trueOne = (restore: VolumeGroupRestore, type: string) =>
    restore.status?.conditions?.find((each) => each.type === type && each.status === "True");
  return waitForObject(store, VolumeGroupRestores, waiting, {
    done: (restore) => {
      if (restore === undefined) return "it was deleted";
      if (trueOne(restore, "Failed") !== undefined) return restore.status?.message ?? "it failed";
      const complete = trueOne(restore, "Complete");
      return complete !== undefined && complete.reason !== "Grouping";
    },
    last: (restore) => restore?.status?.message ?? "nothing has taken it up: are the controllers running?",
    progress: (restore) => restore?.status?.message,
  });
}

/** A restore as the command prints it: phase, then a line per member. */
export function renderRestore(restore: VolumeGroupRestore): string {
  const members = restore.status?.members ?? [];
  const head = phaseLine(restore);
  if (members.length === 0) return head;
  return `${head}\n${table(
    ["FROM", "CLAIM", "SIZE", "CLASS", "PHASE", "MESSAGE"],
    members.map((m) => [m.sourceClaim, m.claimName, m.size, m.storageClassName, m.phase, m.message]),
  )}`;
}
