/** Key of the publish context that makes the node service mount read-only whatever else the request has. */
export const PUBLISH_READ_ONLY = "storage.mooring.dev/read-only";
