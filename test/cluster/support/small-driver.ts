// A driver of another vendor, as a process of its own. Arguments: socket, name, and what its controller can, with commas between.

import { existsSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { CsiError, createServer, v1 } from "@mooring/csi";

const [socket = "", name = "", abilities = ""] = process.argv.slice(2);
const Rpc = v1.ControllerServiceCapability_RPC_Type;
const can = abilities.split(",") as (keyof typeof Rpc)[];
const endpoint = `unix://${socket}`;

/** The storage system has nothing but names: what a process of it has made, the next one knows. */
const idOf = (made: string) => `id-of-${made}`;
const called = (method: string, of: string) => appendFile(`${socket}.calls`, `${method} ${of}\n`);

/** Says that it does not detach a volume while a file with this name is there. */
const refusal = `${socket}.refuses-to-detach`;
/** The same of attaching. */
const attachRefusal = `${socket}.refuses-to-attach`;

const server = createServer(
  {
    identity: {
      getPluginInfo: () => ({ name, vendorVersion: "1" }),
      getPluginCapabilities: () => ({
        capabilities: [
          {
            type: {
              case: "service",
              value: { type: v1.PluginCapability_Service_Type.CONTROLLER_SERVICE },
            },
          },
        ],
      }),
      probe: () => ({ ready: true }),
    },
    controller: {
      controllerGetCapabilities: () => ({
        capabilities: can.map((each) => ({ type: { case: "rpc", value: { type: Rpc[each] } } })),
      }),
      async createVolume({ name: asked, capacityRange }) {
        await called("CreateVolume", asked);
        const capacityBytes = capacityRange?.requiredBytes ?? 0n;
        return { volume: { volumeId: idOf(asked), capacityBytes } };
      },
      async deleteVolume({ volumeId }) {
        await called("DeleteVolume", volumeId);
        return {};
      },
      async controllerPublishVolume({ volumeId }) {
        await called("ControllerPublishVolume", volumeId);
        if (existsSync(attachRefusal)) throw CsiError.internal("the array has no free port");
        return {};
      },
      async controllerUnpublishVolume({ volumeId }) {
        await called("ControllerUnpublishVolume", volumeId);
        if (existsSync(refusal)) throw CsiError.internal("the volume is in use by the array's own backup");
        return {};
      },
      async createSnapshot({ name: asked, sourceVolumeId }) {
        await called("CreateSnapshot", asked);
        const creationTime = { seconds: 1_700_000_000n, nanos: 0 };
        return { snapshot: { snapshotId: idOf(asked), sourceVolumeId, creationTime, readyToUse: true } };
      },
      async deleteSnapshot({ snapshotId }) {
        await called("DeleteSnapshot", snapshotId);
        return {};
      },
    },
    node: {
      nodeGetCapabilities: () => ({}),
      nodeGetInfo: () => ({ nodeId: "n1" }),
    },
  },
  { endpoint },
);
await server.start();
process.once("SIGTERM", () => void server.stop(0).then(() => process.exit(0)));
