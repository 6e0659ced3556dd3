import assert from "node:assert/strict";
import { test } from "node:test";
import { cannedApi } from "../testing/api.ts";
import { mooring } from "../testing/command.ts";

/** A meta/v1 Status. */
const status = (code: number, reason: string, message: string, details: object = {}) => ({
  code,
  body: { kind: "Status", status: "Failure", reason, message, details, code },
});
const group = "groupsnapshot.storage.k8s.io";
const GONE = status(404, "NotFound", `volumegroupsnapshots.${group} "noon" not found`, {
  ...{ name: "noon", group, kind: "volumegroupsnapshots" },
});

test("what the API server refuses is reported with a code and a next step", async (t) => {
  const api = await cannedApi(t);
  const unknown = "the server could not find the requested resource";
  const cases = [
    [["group", "show", "noon"], GONE, 1, /"noon" not found\nnext: .*mooring group list -A/],
    [["group", "wait", "noon"], GONE, 1, /next: .*mooring group list -A/],
    [["group", "delete", "noon"], GONE, 1, /next: .*mooring group list -A/],
    [["group", "list"], status(401, "Unauthorized", "Unauthorized"), 4, /credentials.*\nnext: .*kubeconfig/],
    [
      ["volume", "list"],
      status(403, "Forbidden", 'User "eve" cannot list resource "volumes"'),
      ...[4, /User "eve" cannot list.*\nnext: .*may do that/],
    ],
    [
      ["group", "snapshot", "create", "No", "-l", "a=b"],
      status(422, "Invalid", 'VolumeGroupSnapshot "No" is invalid: metadata.name'),
      ...[2, /"No" is invalid: metadata.name\nnext: /],
    ],
    [["volume", "list"], status(404, "NotFound", unknown), 2, /Mooring's kinds.*\nnext: .*mooring up/],
    [["volume", "show", "v"], status(404, "NotFound", unknown), 2, /Mooring's kinds.*\nnext: .*mooring up/],
    [["why", "volume/v"], { code: 404, body: {} }, 2, /Mooring's kinds.*\nnext: .*mooring up/],
    [["group", "list"], status(503, "ServiceUnavailable", "starting"), 4, /starting\nnext: .*again/],
    [["group", "list"], status(500, "InternalError", "quorum lost"), 4, /quorum lost\nnext: .*again/],
  ] as [string[], ReturnType<typeof status>, number, RegExp][];
  for (const [args, response, exit, expected] of cases) {
    api.response = () => response;
    const { code, stderr } = await mooring([...args, "--kubeconfig", api.kubeconfig]);
    assert.equal(code, exit, `${args.join(" ")}: ${stderr}`);
    assert.match(stderr, expected, args.join(" "));
  }
});
