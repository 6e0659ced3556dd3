import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const NODE = { "impersonate-user": "system:node:n1", "impersonate-group": "system:nodes" };
const STORAGE = "/apis/storage.k8s.io/v1";
const DEFAULT = "/api/v1/namespaces/default";

async function make(path: string, body: object): Promise<{ metadata: { uid: string } }> {
  const response = await server.http.post<{ metadata: { uid: string } }>(path, body);
  assert.equal(response.status, 201, response.text);
  return response.json;
}

test(
  "a node gets tokens for whom the driver of a pod's volume wants them, and for nobody else",
  thorough(),
  async () => {
    const tokenRequests = [{ audience: "vault" }];
    await make(`${STORAGE}/csidrivers`, { metadata: { name: "vault.example.com" }, spec: { tokenRequests } });
    await make("/api/v1/persistentvolumes", {
      metadata: { name: "pv" },
      spec: {
        ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, storageClassName: "none" },
        csi: { driver: "vault.example.com", volumeHandle: "h" },
      },
    });
    await make(`${DEFAULT}/persistentvolumeclaims`, {
      metadata: { name: "data" },
      spec: {
        ...{ accessModes: ["ReadWriteOnce"], storageClassName: "none", volumeName: "pv" },
        resources: { requests: { storage: "1Gi" } },
      },
    });
    const volumes = {
      inline: { csi: { driver: "vault.example.com" } },
      claim: { persistentVolumeClaim: { claimName: "data" } },
      plain: { emptyDir: {} },
    };
    const statuses: Record<string, number[]> = {};
    for (const [name, volume] of Object.entries(volumes)) {
      const containers = [{ name: "c", image: "host" }];
      const spec = { nodeName: "n1", containers, volumes: [{ name: "v", ...volume }] };
      const { uid } = (await make(`${DEFAULT}/pods`, { metadata: { name }, spec })).metadata;
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name, uid };
      const ask = async (audience: string) => {
        const body = { spec: { audiences: [audience], boundObjectRef } };
        return (await server.http.post(`${DEFAULT}/serviceaccounts/default/token`, body, NODE)).status;
      };
      statuses[name] = [await ask("vault"), await ask("elsewhere")];
    }
    assert.deepEqual(statuses, { inline: [201, 403], claim: [201, 403], plain: [403, 403] });
  },
);
