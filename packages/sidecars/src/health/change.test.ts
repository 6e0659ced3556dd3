import assert from "node:assert/strict";
import { test } from "node:test";
import type { DriverInfo } from "../csi/driver-info.ts";
import { describeChange } from "./change.ts";

const BEFORE: DriverInfo = {
  ...{ name: "a.example.com", version: "1", controller: true, controllerElsewhere: false },
  ...{ topology: false, expansion: "online", groupSnapshots: true, nodeExpansion: false },
  ...{ can: new Set(["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"]), volumeGroups: new Set() },
};
const change = (now: Partial<DriverInfo>) =>
  describeChange(BEFORE, { ...BEFORE, ...now }, "unix:///csi/a.sock");

test("a driver that has come back as another one is reported with what waits, and what to do", () => {
  assert.deepEqual(change({ version: "2" }), {
    type: "Normal",
    message: "a.example.com 1 has come back as a.example.com 2",
  });
  const more = change({ topology: true });
  assert.equal(more.type, "Normal");
  assert.match(more.message, /it has VOLUME_ACCESSIBILITY_CONSTRAINTS now$/);
  const less = change({ can: new Set(["CREATE_DELETE_VOLUME", "LIST_VOLUMES"]), expansion: "none" });
  assert.equal(less.type, "Warning");
  assert.match(
    less.message,
    /it has LIST_VOLUMES now; it no longer has ONLINE expansion, CREATE_DELETE_SNAPSHOT: what needs that waits\. Start a version/,
  );
  assert.match(
    change({ groupSnapshots: false }).message,
    /no longer has CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT/,
  );
  const other = change({ name: "b.example.com" });
  assert.equal(other.type, "Warning");
  assert.match(
    other.message,
    /as b\.example\.com 1, at unix:\/\/\/csi\/a\.sock: what a\.example\.com has made waits until a driver of that name/,
  );
});
