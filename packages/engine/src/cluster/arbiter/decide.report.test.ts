import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import type { ShareManager } from "../../api/share-manager.ts";
import { decide } from "./decide.ts";
import { on, placed, type Setup, ticket, view } from "./testing/build-view.ts";

describe("the result of a ticket", () => {
  test("satisfied needs the node's own record and a volume that is not moving", () => {
    covers("LHA-037");
    const tickets = [ticket("x", "csi-attacher", "a")];
    const result = (setup: Setup) => decide(view({ ...setup, tickets })).results.x;
    assert.equal(result(on("a"))?.satisfied, true);
    assert.equal(result(on("a", "attaching"))?.reason, "Attaching");
    assert.equal(
      result({ spec: { nodeID: "" }, status: { state: "attached", currentNodeID: "a" } })?.satisfied,
      false,
    );
    assert.equal(
      result({ spec: { nodeID: "a" }, status: { state: "detaching", currentNodeID: "a" } })?.satisfied,
      false,
    );
  });

  test("a ticket that wants the device while there is none says so, with the name of who has the volume", () => {
    covers("LHA-025");
    const hidden = ticket("h", "volume-restore-controller", "a", { parameters: { disableFrontend: "true" } });
    const setup = on("a");
    const spec = { ...setup.spec, disableFrontend: true };
    const status = { ...setup.status, frontendDisabled: true };
    const tickets = [hidden, ticket("c", "csi-attacher", "a")];
    const { placement, results } = decide(view({ spec, status, tickets }));
    assert.equal(placement, undefined);
    assert.equal(results.h?.satisfied, true);
    assert.equal(results.c?.reason, "AttachedWithIncompatibleParameters");
    assert.match(results.c?.message ?? "", /"h"/);
  });

  test("a shared volume follows its share manager, and the results of workloads say when it is up", () => {
    covers("LHA-060", "LHA-076");
    const tickets = [
      ticket("b", "csi-attacher", "b"),
      ticket("c", "csi-attacher", "c"),
      ticket("share-manager", "share-manager-controller", "a"),
    ];
    const spec = { accessMode: "rwx" };
    assert.equal(placed({ tickets, spec }), "a");
    const seen = view({ tickets, spec: { ...spec, nodeID: "a" }, status: on("a").status ?? {} });
    const results = (status: Partial<NonNullable<ShareManager["status"]>>) => {
      const share: ShareManager = {
        ...{ apiVersion: "v1", kind: "ShareManager", metadata: { name: "v-1" }, spec: { nodeID: "a" } },
        status: { state: "running", nodeID: "a", endpoint: "nfs://a:1/v-1", ...status },
      };
      return decide({ ...seen, share }).results;
    };
    assert.deepEqual(
      Object.values(results({})).map((v) => v.satisfied),
      [true, true, true],
    );
    assert.equal(decide(seen).results.b?.reason, "ShareNotReady");
    assert.equal(results({ nodeID: "c" }).b?.satisfied, false);
    const error = { code: "FAILED_PRECONDITION", message: "ganesha.nfsd is not installed" };
    const failed = results({ state: "error", error });
    assert.match(failed.c?.message ?? "", /ganesha.nfsd is not installed/);
    assert.equal(failed["share-manager"]?.satisfied, true);
    assert.equal(decide(view({ tickets, spec })).results.b?.reason, "ShareNotReady");
    const alone = [ticket("b", "csi-attacher", "b")];
    assert.equal(
      decide(view({ tickets: alone, spec })).placement,
      undefined,
      "a workload's ticket moves nothing",
    );
  });

  test("a ticket written by hand gets the next number of the object", () => {
    covers("LHA-075");
    const { generation: _, ...bare } = ticket("x", "longhorn-api", "a");
    assert.deepEqual(decide(view({ tickets: [bare] })).number, { x: 10 });
    assert.deepEqual(decide(view({ tickets: [{ ...bare, generation: 99 }] })).number, { x: 10 });
    assert.deepEqual(decide(view({ tickets: [{ ...bare, generation: 10 }] })).number, {});
  });
});
