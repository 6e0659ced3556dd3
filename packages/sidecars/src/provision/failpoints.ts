import { failpoint } from "@mooring/store";

/** Between two visible steps of provisioning. */
export const failpoints = {
  sourceProtected: failpoint("sidecars/provision/source-protected"),
  recordOpened: failpoint("sidecars/provision/record-opened"),
  volumeCreated: failpoint("sidecars/provision/volume-created"),
  objectCreated: failpoint("sidecars/provision/object-created"),
  volumeRemoved: failpoint("sidecars/provision/volume-removed"),
  rescheduled: failpoint("sidecars/provision/rescheduled"),
  recordClosed: failpoint("sidecars/provision/record-closed"),
};
