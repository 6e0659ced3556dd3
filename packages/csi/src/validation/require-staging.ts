import type { Interceptor } from "../calls/interceptor.ts";
import { CsiError } from "../errors/csi-error.ts";
import * as v1 from "../gen/csi/v1/csi_pb.ts";

/** A plugin that stages volumes publishes none without its staging path (section "NodePublishVolume Errors"). */
export const requireStaging: Interceptor = (next) => async (call) => {
  if (call.method === v1.Node.method.nodePublishVolume) {
    const { stagingTargetPath } = call.request as v1.NodePublishVolumeRequest;
    if (stagingTargetPath === "") {
      throw CsiError.failedPrecondition("NodePublishVolume: staging_target_path is required by this plugin", {
        reason: "CSI_NOT_STAGED",
        hint: "stage the volume first and pass the same path",
      });
    }
  }
  return next(call);
};
