import { type Shown, shown } from "./group-flaws.ts";

/** A flaw that nothing can show, and why it cannot be ours. */
interface Impossible {
  flaw: string;
  why: string;
}

const SNAPSHOT = "sidecars/src/snapshot/snapshot.test.ts";
const CLASS = "sidecars/src/snapshot/class.test.ts";
const GROUP = "sidecars/src/group-snapshot/defects.test.ts";
const GROUP_INPUT = "sidecars/src/group-snapshot/bad-input.test.ts";
const START = "sidecars/src/start.test.ts";
const PROVISION = "sidecars/src/provision/provision.test.ts";
const SOURCES = "sidecars/src/provision/data-sources.test.ts";
const ATTACH = "sidecars/src/attach/attach.test.ts";
const HEALTH = "sidecars/src/health/health.test.ts";

/** What reading the code of the sidecars of the Kubernetes project has found, by the number of the note on it. */
export const SIDECAR_FLAWS: Readonly<Record<string, Shown | Impossible>> = {
  S1: shown(
    "a status is rewritten at every read while there is an error",
    SNAPSHOT,
    "errors are on the snapshot",
  ),
  S2: {
    flaw: "a cache of one kind is filled with another",
    why: "a cache has the type of its kind: it does not compile",
  },
  S3: shown("annotations of others are lost", START, "others may write to every object all the time"),
  S4: shown(
    "a group deleted right after its content was made is left",
    GROUP,
    "G2 a group deleted right after",
  ),
  S5: shown(
    "a snapshot of a group is a crash without the kinds of groups",
    GROUP_INPUT,
    "plain snapshots do not need",
  ),
  S6: shown(
    "a restore from another namespace does not keep its snapshot",
    SOURCES,
    "a snapshot in another namespace",
  ),
  S7: shown("a content of the same name is believed, whosever it is", CLASS, "a content that has the name"),
  S8: shown(
    "statuses of members are wiped and written again",
    GROUP,
    "G10 the status of a member is never wiped",
  ),
  S9: shown("calls are counted under another name", START, "every call to the driver is measured"),
  S10: { flaw: "a group's content gets into the cache of contents", why: "as S2: it does not compile" },
  S11: {
    flaw: "an absent message of an error is read",
    why: "an absent field has a type of its own: it does not compile",
  },
  S12: shown("a driver that gives no time has one of 1970", GROUP, "G12 a driver that gives no time"),
  S13: shown(
    "a source is released before what is made from it is there",
    "sidecars/src/source-protection/decide.test.ts",
    "source protection: ",
  ),
  S14: shown(
    "a volume that is too small is deleted five times in one moment",
    PROVISION,
    "a volume that is too small",
  ),
  S15: shown("what may have been made is forgotten", PROVISION, "a claim deleted during CreateVolume"),
  S16: shown(
    "success is reported before there is a PersistentVolume",
    "sidecars/src/provision/decide.property.test.ts",
    "whatever happens between the steps",
  ),
  S17: shown(
    "one back-off is shared by several controllers",
    "sidecars/src/common/backoff.test.ts",
    "back-off doubles up to the maximum",
  ),
  S18: {
    flaw: "all attachments are gone through for each volume",
    why: "they are found by an index; what 20,000 volumes cost is measured by `npm run bench kubernetes`",
  },
  S19: shown(
    "a detach writes a status to an object that is gone",
    ATTACH,
    "when somebody else keeps the object",
  ),
  S20: shown(
    "a page of ListVolumes that is late detaches volumes",
    ATTACH,
    "a volume that the driver lost from a node",
  ),
  S21: shown(
    "a VolumeAttributesClass of another driver is applied, and a late one wakes nobody",
    "sidecars/src/modify/modify.test.ts",
    "a class that is not there yet is waited for",
  ),
  S22: {
    flaw: "all pods of the cluster are followed to know what is in use",
    why: "attachments say it; nothing asks for pods, so there is no right to list them",
  },
  S23: shown(
    "a volume's bad state is reported again and again",
    HEALTH,
    "a volume in a bad state is reported once",
  ),
  S24: shown("a lost socket ends the process", HEALTH, "whether the driver responds is known all the time"),
};
