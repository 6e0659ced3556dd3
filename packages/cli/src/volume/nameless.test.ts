import assert from "node:assert/strict";
import { test } from "node:test";
import { cannedApi } from "../testing/api.ts";
import { mooring, NAMELESS } from "../testing/command.ts";

const ticket = {
  id: "longhorn-ui",
  type: "longhorn-api",
  nodeID: "a",
  parameters: { lastAttachedBy: "ann" },
};
const apiVersion = "storage.mooring.dev/v1alpha1";
const OBJECTS: Readonly<Record<string, object>> = {
  volumes: { apiVersion, kind: "Volume", metadata: { name: "v" }, spec: { size: 1, pool: "p" } },
  volumeattachments: {
    ...{ apiVersion, kind: "VolumeAttachment", metadata: { name: "v" } },
    spec: { volume: "v", attachmentTickets: { "longhorn-ui": ticket } },
  },
};

test("a user who is in no passwd has help and every command, and is called by the number", async (t) => {
  const nameless = { env: { SUDO_USER: undefined, HOME: undefined }, under: NAMELESS };
  const help = await mooring(["volume", "attach", "--help"], nameless);
  assert.equal(help.code, 0, help.stderr);
  assert.match(help.stdout, /--holder <name> +who asks \(default: who runs this\)/);
  const nothing = await mooring(["volume", "list"], {
    ...nameless,
    env: { ...nameless.env, KUBECONFIG: undefined },
  });
  assert.doesNotMatch(nothing.stderr, /SystemError|passwd|at /);
  const api = await cannedApi(t);
  api.response = (request) => {
    const [, kind = ""] = /\/(volumes|volumeattachments)\/v$/.exec(request) ?? [];
    const body = OBJECTS[kind];
    return body === undefined ? { code: 404, body: {} } : { code: 200, body };
  };
  const given = await mooring(["volume", "detach", "v", "--kubeconfig", api.kubeconfig], nameless);
  assert.equal(given.code, 1, given.stderr);
  assert.match(given.stderr, /is held by ann, not by 54321.*\nnext: .* ends it now\. \(--force\)\n/);
});
