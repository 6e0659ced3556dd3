import { failpoint } from "@mooring/store";

/** Between two visible steps of provisioning. */
export const failpoints = {
  sourceProtected: failpoint("sidecars/provision/source-protected"),
  intentSaved: failpoint("sidecars/provision/intent-saved"),
  volumeCreated: failpoint("sidecars/provision/volume-created"),
  pvCreated: failpoint("sidecars/provision/pv-created"),
  volumeRemoved: failpoint("sidecars/provision/volume-removed"),
  rescheduled: failpoint("sidecars/provision/rescheduled"),
  intentDeleted: failpoint("sidecars/provision/intent-deleted"),
};
