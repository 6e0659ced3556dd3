/** Key of the publish context that makes the node service mount read-only whatever else it is told. */
export const PUBLISH_READ_ONLY = "storage.mooring.dev/read-only";
