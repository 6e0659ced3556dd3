import { after } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import { createHost } from "../../host/create-host.ts";
import { poolContract } from "../contract.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);

poolContract({
  type: "rbd",
  host: createHost({ server: true }),
  options: async () => {
    const { conf, spec } = await (await cluster()).rbdPool();
    return { rbd: { nodeID: "node-1", place: { conf, ...spec } } };
  },
  test: withCluster,
});
