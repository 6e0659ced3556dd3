// Specs of Kubernetes' storage tests that are not run, each with why. What a spec leaves out by itself is in the report.

/** Patterns of a spec's full name. */
export const LEFT_OUT = [
  ["\\[Feature:Windows\\]", "nodes with Windows"],
  [
    "should provision storage with any volume data source",
    "wants the images hello-populator and volume-data-source-validator, whose Go modules no proxy has",
  ],
  [
    "multiple pods should modify volumes with a different volumeAttributesClass",
    "changes claims that no pod uses, which the class does not bind before a pod does",
  ],
  [
    "should create snapshots for StatefulSet volumes and verify data consistency after restore",
    "restores into claims of 1 MiB, whatever sizes a driver has: a volume with ext4 has 8 MiB at least, and so has a copy of it",
  ],
];
