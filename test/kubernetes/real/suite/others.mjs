// The same as ./left-out.mjs has of Mooring's own driver, of drivers of others around which `mooring controller` runs.
import { leastPassed, leftOut, OF_RAW_VOLUMES, OF_SNAPSHOTS, OF_THE_TESTS, WINDOWS } from "./left-out.mjs";

const ONE_NODE = "several nodes: there is one";
const FOLDERS = "file systems and mount options: its volumes are folders";
const OF_FOLDERS = [
  ["doesn't support (ext3|ext4|xfs)", FOLDERS],
  ["does not define supported mount option", FOLDERS],
];
const NOT_SERVED = "that it does not serve";
const BEFORE_PODS = [
  "with immediate binding may cause",
  "several ephemeral volumes that are bound before there is a pod: the tests have them with no driver",
];

export const OTHERS = {
  hostpath: {
    always: [WINDOWS],
    themselves: [
      ...OF_THE_TESTS,
      ...OF_RAW_VOLUMES,
      ...OF_SNAPSHOTS,
      ...OF_FOLDERS,
      BEFORE_PODS,
      ["^Skipping CSIInlineVolume test for expansion", "growth of CSI in-line volumes, which have no claim"],
      [
        "^VolumeBindingMode immediate",
        "ephemeral volumes that are bound before there is a pod: the tests have them with no driver of topologies",
      ],
      ["only supports singleNodeVolume", ONE_NODE],
      ["^Number of available nodes is less than", ONE_NODE],
      ["^Not enough topologies in cluster", ONE_NODE],
      [
        "does not support filesystem resizing",
        "a larger copy whose file system grows: its folders have no size",
      ],
      ["does not support SELinuxMount", "mounts for SELinux: its folders are of one file system"],
      ["does not support volume limits", "volume limits: it is started without one"],
    ],
    // With a class that binds at once there are no capacities, as with the Kubernetes project's provisioner.
    late: {
      text: "provides storage capacity information",
      StorageClass: { FromFile: "test/kubernetes/real/suite/drivers/hostpath-late-class.yaml" },
    },
    leastPassed: 104,
  },
  minimal: {
    always: [WINDOWS],
    themselves: [
      ...OF_THE_TESTS,
      ...OF_FOLDERS,
      ["only supports singleNodeVolume", ONE_NODE],
      ["doesn't support Block|raw block|block volume", `raw volumes, ${NOT_SERVED}`],
      ["snapshot", `snapshots, ${NOT_SERVED}`],
      ["cloning|volume clone", `clones, ${NOT_SERVED}`],
      ["volume expansion", `growth, ${NOT_SERVED}`],
      ['volume type "CSIInlineVolume"', `CSI in-line volumes, ${NOT_SERVED}`],
      ["VolumeAttributesClass", `VolumeAttributesClasses, ${NOT_SERVED}`],
      ["volume modify stress test options", `VolumeAttributesClasses, ${NOT_SERVED}`],
      ["doesn't publish storage capacity", `capacities, ${NOT_SERVED}`],
      ["does not support topology", `topologies, ${NOT_SERVED}`],
      ["doesn't support RWX", `volumes of several nodes, ${NOT_SERVED}`],
      BEFORE_PODS,
      ["does not support SELinuxMount", `mounts for SELinux, ${NOT_SERVED}`],
      ["does not support volume limits", `volume limits, ${NOT_SERVED}`],
    ],
    leastPassed: 43,
  },
};

/** For `readReport`. `which`: a key of {@link OTHERS}; `bin`: where the programs are. */
export const reasonsOf = (which, bin) => ({
  left: leftOut(bin, OTHERS[which].always),
  themselves: OTHERS[which].themselves,
});

/** Specs that want a class of their own, for `runWithTwoClasses`; undefined where none does. */
export const lateSpecsOf = (which) => OTHERS[which].late;

/** So many passed when all were last run. */
export const leastPassedOf = (which, bin) => leastPassed(bin, OTHERS[which].leastPassed);
