import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, featureNames } from "./calls.ts";

const WHERE = ["--conf", "/p/ceph.conf", "--id", "admin", "--pool", "volumes"];
const NAMESPACE = ["--namespace", "one"];

test("what the library does is recognised by the arguments of the program, with where it is", () => {
  const at = { conf: "/p/ceph.conf", user: "admin", pool: "volumes", namespace: "" };
  const info = ["info", "--format", "json", "v-1"];
  assert.deepEqual(callOf("rbd", [...WHERE, ...info]), { at, call: { do: "info", name: "v-1" } });
  assert.deepEqual(callOf("rbd", [...WHERE, ...NAMESPACE, ...info])?.at, { ...at, namespace: "one" });
  const clone =
    "clone --dest-pool volumes --dest-namespace one --image-feature layering,exclusive-lock v-1@s v-2";
  assert.deepEqual(callOf("rbd", [...WHERE, ...NAMESPACE, ...clone.split(" ")])?.call, {
    ...{ do: "clone", image: "v-1", snapshot: "s", name: "v-2", features: 5 },
  });
  assert.deepEqual(callOf("rbd", [...WHERE, "create", "--size", "4096B", "v-1"])?.call, {
    ...{ do: "create", name: "v-1", size: 4096 },
  });
});

test("of a cluster's room, and of what an image's header says, it knows by the arguments of ceph and rados", () => {
  const df = ["--conf", "/p/ceph.conf", "--id", "admin", "df", "detail", "--format", "json"];
  const at = { conf: "/p/ceph.conf", user: "admin" };
  assert.deepEqual(callOf("ceph", df), { at, call: { do: "room" } });
  const metadata = [...WHERE, "getomapval", "rbd_header.10ab", "metadata_a.b"];
  assert.deepEqual(callOf("rados", metadata)?.call, { do: "metadata", imageId: "10ab", key: "a.b" });
  assert.equal(callOf("rados", [...WHERE, "getomapval", "csi.volumes", "metadata_a.b"]), undefined);
  assert.equal(callOf("rbd", metadata), undefined);
  assert.equal(callOf("ceph", [...WHERE, ...df.slice(4)]), undefined, "not of one pool");
  assert.equal(
    callOf("rbd", ["--conf", "/p/ceph.conf", "--id", "admin", "info", "--format", "json", "v-1"]),
    undefined,
  );
});

test("what it does not do is the program's: other words, features that nobody knows, and names that could be two", () => {
  for (const rest of [
    ["ls", "--long", "--format", "json"],
    ["device", "map", "v-1"],
    ["info", "--format", "json"],
    ["info", "--format", "json", "v-1", "v-2"],
    ["info", "--format", "json", "v-1 v-2"],
    ["info", "--format", "json", ""],
    ["info", "--format", "json", "other/v-1"],
    ["snap", "create", "--no-progress", "v-1"],
    ["create", "--size", "4096B", "--image-feature", "telepathy", "v-1"],
  ])
    assert.equal(callOf("rbd", [...WHERE, ...rest]), undefined, rest.join(" "));
  assert.equal(callOf("rbd", ["info", "--format", "json", "v-1"]), undefined, "nobody knows where");
});

test("features have the program's names", () => {
  assert.deepEqual(featureNames(61), [
    ...["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"],
  ]);
});
